/** The explore page's questions. */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { read, type QueryOf } from '../../api/client.ts';
import type { TableAnswer, TableRow } from '../../api/types.ts';
import { useAsOf } from '../../app/asOf.tsx';
import type { ExplorePlace } from '../../app/pages.ts';
import { selectionOf } from '../../selection/selection.ts';

/** Rows of the first answer: those that a reader sees before scrolling, and some more. */
const PAGE = 200;
/** The largest number of rows of one answer. */
const MOST_ROWS = 5_000;
/** Tables up to this length are read whole; search and order then need no request. */
const WHOLE = 2 * MOST_ROWS;

export interface TableData {
  /** The latest answer: its totals and selection. */
  answer: TableAnswer;
  rows: readonly TableRow[];
  /** All rows of the table are in `rows`: search and order are the page's work. */
  whole: boolean;
}

export interface TableQuery {
  data: TableData | undefined;
  error: Error | null;
  isFetching: boolean;
  /** The rows are of another selection, search or order, whose answer is under way. */
  isPlaceholderData: boolean;
  refetch: () => unknown;
  /** Fetches more rows; null if there are none, or they are under way. */
  readMore: (() => void) | null;
}

/**
 * The rows of a table, in the order and with the search of the place.
 *
 * The heaviest come first. `wantsWhole`: the reader is about to search or to sort; a second request then reads all rows
 * of a table that is not too long, and from then on search and order need no request. Until then, and for longer tables,
 * the server does both.
 */
export function useTable(place: ExplorePlace, enabled: boolean, wantsWhole: boolean): TableQuery {
  const { asOf } = useAsOf();
  const client = useQueryClient();
  const table: QueryOf<'/api/v1/table'> = { ...selectionOf(place, asOf), by: place.by };
  const wholeKey = ['/api/v1/table', table, 'whole'];
  const known = client.getQueryData<TableAnswer>(wholeKey);

  const served: QueryOf<'/api/v1/table'> = {
    ...table,
    sort: place.sort,
    limit: PAGE,
    ...searchOf(place),
  };
  const paged = useInfiniteQuery({
    queryKey: ['/api/v1/table', served, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      read('/api/v1/table', { ...served, offset: pageParam }, undefined, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => {
      const loaded = pages.reduce((sum, page) => sum + page.rows.length, 0);
      return last.rows.length > 0 && loaded < last.rows_total ? loaded : undefined;
    },
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    meta: { ranged: true },
    enabled: enabled && known === undefined,
  });

  const pages = paged.data?.pages;
  const latest = pages?.at(-1);
  const current = latest !== undefined && !paged.isPlaceholderData;
  const rows = useMemo(() => pages?.flatMap((page) => page.rows) ?? [], [pages]);
  const short = current && place.find === '' && latest.rows_total <= WHOLE;
  const whole = useQuery({
    queryKey: wholeKey,
    queryFn: ({ signal }): Promise<TableAnswer> | TableAnswer =>
      rows.length === latest?.rows_total ? { ...latest, rows } : readWhole(table, signal),
    enabled: enabled && short && (wantsWhole || rows.length === latest.rows_total),
    staleTime: Infinity,
    retry: false, // the server answers searches, too
    structuralSharing: false, // comparing thousands of rows costs more than drawing thirty
    meta: { ranged: true },
  });

  if (whole.data !== undefined)
    return {
      data: { answer: whole.data, rows: whole.data.rows, whole: true },
      error: null,
      isFetching: false,
      isPlaceholderData: false,
      refetch: paged.refetch,
      readMore: null,
    };
  return {
    data: latest && { answer: latest, rows, whole: false },
    error: paged.error,
    isFetching: paged.isFetching,
    isPlaceholderData: paged.isPlaceholderData,
    refetch: paged.refetch,
    readMore:
      paged.hasNextPage && !paged.isFetchingNextPage && !paged.isPlaceholderData
        ? () => void paged.fetchNextPage()
        : null,
  };
}

/** The search as the server does it; like the page's, an expression without capitals finds them, too. */
function searchOf({ find, regex }: ExplorePlace): { find?: string; find_regex?: string } {
  if (find === '') return {};
  if (!regex) return { find };
  return { find_regex: /[A-Z]/.test(find) ? find : `(?i)${find}` };
}

async function readWhole(table: QueryOf<'/api/v1/table'>, signal: AbortSignal): Promise<TableAnswer> {
  const first = await read('/api/v1/table', { ...table, limit: MOST_ROWS }, undefined, signal);
  const rows = [...first.rows];
  while (rows.length < first.rows_total) {
    const more = { ...table, limit: MOST_ROWS, offset: rows.length };
    const next = await read('/api/v1/table', more, undefined, signal);
    if (next.rows.length === 0) break;
    rows.push(...next.rows);
  }
  return { ...first, rows };
}
