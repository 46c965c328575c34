/** The explore page's questions. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { read, type QueryOf } from '../../api/client.ts';
import { useAsOf } from '../../app/asOf.tsx';
import type { ExplorePlace } from '../../app/pages.ts';
import { selectionOf } from '../../selection/selection.ts';

const PAGE = 200;
/** Rows that are fetched for a search by regular expression in the page: the server finds only plain text. */
const REGEX_PAGE = 5000;
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
