/** The flame graph of a selection, with as much detail as can be seen (flame/refine.ts). */
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { readFlame } from '../api/flame.ts';
import type { FlameSummary } from '../api/types.ts';
import type { FlameAnswer } from '../flame/decode.ts';
import { findNode } from '../flame/identity.ts';
import { missing, refined, visibleShare, type Refinement } from '../flame/refine.ts';
import type { SelectionQuery } from '../selection/selection.ts';

/** Requested frames, the server's maximum: deep stacks of few samples each make many. */
const FLAME_NODES = 200_000;

type Answer = FlameAnswer<FlameSummary>;

export interface FlameTreeOptions {
  enabled?: boolean;
  /**
   * Request all frames, also those too thin to see: for a search, a highlight, callers and callees, whose sums would
   * lack them.
   */
  whole?: boolean;
  /** The label whose values are the outermost frames; empty: none. Such a tree is requested whole. */
  by?: string;
}

export interface FlameTreeQuery {
  data: Answer | undefined;
  error: Error | null;
  isFetching: boolean;
  /** The data are of another selection, whose answer is on its way. */
  isPlaceholderData: boolean;
  /** The shown tree is not yet what the zoom or `whole` needs. */
  refining: boolean;
  refetch(): void;
}

/** Subtrees requested for one selection, in the order of the zooms. */
interface Requested {
  of: string;
  paths: readonly (readonly number[])[];
  /** A frame of the link was not among the visible ones. */
  whole: boolean;
}

/**
 * `width`: of the graph, or more, in pixels. `node`: the key of the frame that the graph is zoomed to, which may be any
 * frame of the whole tree.
 */
export function useFlameTree(
  selection: SelectionQuery,
  width: number,
  node: string,
  options: FlameTreeOptions = {},
): FlameTreeQuery {
  const { enabled = true, by = '' } = options;
  // The path of a frame below a label's value cannot be requested: it is none of functions only.
  const whole = options.whole === true || by !== '';
  const min_share = visibleShare(width);
  const of = JSON.stringify([selection, min_share, by]);
  const [state, setRequested] = useState<Requested>({ of, paths: [], whole: false });
  const requested = useMemo(() => (state.of === of ? state : { of, paths: [], whole: false }), [state, of]);
  const common = { staleTime: Infinity, meta: { ranged: true }, structuralSharing: false } as const;
  const question = { ...selection, nodes: FLAME_NODES, ...(by === '' ? {} : { by }) };

  const coarse = useQuery({
    queryKey: ['/api/v1/flame', { ...question, min_share }],
    queryFn: ({ signal }) => readFlame({ ...question, min_share }, signal),
    placeholderData: keepPreviousData,
    enabled,
    ...common,
  });
  const wantsWhole = whole || requested.whole;
  const all = useQuery({
    queryKey: ['/api/v1/flame', question],
    queryFn: ({ signal }) => readFlame(question, signal),
    enabled: enabled && wantsWhole,
    ...common,
  });
  const loadsWhole = wantsWhole && all.isPending && all.error === null;
  const subtrees = useQueries({
    queries: requested.paths.map((path) => {
      const query = { ...question, min_share, root: path.join(',') };
      return {
        queryKey: ['/api/v1/flame', query],
        queryFn: ({ signal }: { signal: AbortSignal }) => readFlame(query, signal),
        enabled,
        ...common,
      };
    }),
  });
  const pending = subtrees.some(({ isPending, error }) => isPending && error === null);
  // Not `combine`: TanStack Query would compare the trees of its results deeply.
  const version = subtrees.map(({ dataUpdatedAt }) => dataUpdatedAt).join();
  const trees = useMemo(() => subtrees.map(({ data }) => data?.tree), [of, version]);

  const base = wantsWhole && all.data !== undefined ? all.data : coarse.data;
  const shown = useMemo(() => {
    if (base === undefined) return undefined;
    const refinements: Refinement[] = requested.paths.flatMap((path, k) => {
      const tree = trees[k];
      return tree ? [{ path, tree }] : [];
    });
    const tree = refined(base.tree, refinements);
    const { pruned } = base.head;
    const nodes = Math.max(0, pruned.nodes - (tree.n - base.tree.n));
    return { head: { ...base.head, pruned: { ...pruned, nodes } }, tree };
  }, [base, trees, requested.paths]);

  const isPlaceholderData = coarse.isPlaceholderData && base === coarse.data;
  // A subtree that failed is not requested again: the graph shows what it has.
  const next = useMemo(() => {
    if (shown === undefined || isPlaceholderData || pending || loadsWhole) return null;
    return missing(shown.tree, node, width, requested.paths);
  }, [shown, isPlaceholderData, pending, loadsWhole, node, width, requested.paths]);
  useEffect(() => {
    if (next === null) return;
    if (next === 'whole') {
      if (!requested.whole) setRequested({ ...requested, whole: true });
    } else if (!requested.paths.some((path) => path.join() === next.join()))
      setRequested({ ...requested, paths: [...requested.paths, next] });
  }, [next, requested]);

  const refining = !isPlaceholderData && (pending || loadsWhole);
  // While a frame that is not among the visible ones is on its way, the graph stays as it was.
  const latest = useRef<Answer | undefined>(undefined);
  const lacks = shown !== undefined && (refining || next !== null) && findNode(shown.tree, node) < 0;
  const data = lacks ? (latest.current ?? shown) : shown;
  useEffect(() => {
    latest.current = data;
  }, [data]);

  return {
    data,
    error: coarse.error ?? all.error,
    isFetching: coarse.isFetching || all.isFetching || pending,
    isPlaceholderData: isPlaceholderData || data !== shown,
    refining: refining || lacks,
    refetch: () => {
      void coarse.refetch();
      if (wantsWhole) void all.refetch();
    },
  };
}
