/** The explore page's questions. */
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { answerOf, api, read, type QueryOf } from '../../api/client.ts';
import type { FlameSummary } from '../../api/types.ts';
import { useAsOf } from '../../app/asOf.tsx';
import type { ExplorePlace } from '../../app/pages.ts';
import { decodeFlame, FLAME_MEDIA_TYPE } from '../../flame/decode.ts';
import { selectionOf, type SelectionQuery } from '../../selection/selection.ts';

const PAGE = 200;
/** Rows that are fetched for a search by regular expression in the page: the server finds only plain text. */
const REGEX_PAGE = 5000;
/** Requested frames, the server's maximum: deep stacks of few samples each make many. */
const FLAME_NODES = 200_000;

export function useTable(place: ExplorePlace, enabled: boolean) {
  const { asOf } = useAsOf();
  const find = place.regex ? '' : place.find;
  const limit = place.regex && place.find !== '' ? REGEX_PAGE : PAGE;
  const question: QueryOf<'/api/v1/table'> = {
    ...selectionOf(place, asOf),
    by: place.by,
    sort: place.sort,
    limit,
    ...(find === '' ? {} : { find }),
  };
  return useInfiniteQuery({
    queryKey: ['/api/v1/table', question, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      read('/api/v1/table', { ...question, offset: pageParam }, undefined, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => {
      const loaded = pages.reduce((sum, page) => sum + page.rows.length, 0);
      return last.rows.length > 0 && loaded < last.rows_total ? loaded : undefined;
    },
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    meta: { ranged: true },
    enabled,
  });
}

export function useFlame(place: ExplorePlace, enabled: boolean) {
  const { asOf } = useAsOf();
  const question = { ...selectionOf(place, asOf), nodes: FLAME_NODES };
  return useQuery({
    queryKey: ['/api/v1/flame', question],
    queryFn: ({ signal }) => readFlame(question, signal),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    meta: { ranged: true },
    structuralSharing: false, // typed arrays: comparing them costs more than drawing them
    enabled,
  });
}

async function readFlame(query: SelectionQuery & { nodes: number }, signal: AbortSignal) {
  const headers = { Accept: FLAME_MEDIA_TYPE };
  const reply = api.GET('/api/v1/flame', { params: { query }, headers, parseAs: 'arrayBuffer', signal });
  return decodeFlame<FlameSummary>(await answerOf<ArrayBuffer>(reply, signal));
}
