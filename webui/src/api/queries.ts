/** The questions as the page holds them: kept while they are asked again, repeated while the range is live. */
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { comparedShare, diffQuery } from '../compare/base.ts';
import { selectionOf, type Place } from '../selection/place.ts';
import { refreshEvery } from '../selection/time.ts';
import { askDiff, askFlame, askLabels, askReliability, askStatus, askTable } from './client.ts';
import { ApiProblem } from './problem.ts';

const PAGE = 200;
/** Rows that are read to be searched by regular expression here, since the server finds plain text only. */
const REGEX_PAGE = 5000;
/** Frames asked for, the server's most: deep stacks of few samples each make many. */
const FLAME_NODES = 200_000;

export function retryPassing(failures: number, error: Error): boolean {
  return failures < 2 && !(error instanceof ApiProblem && !error.isPassing);
}

export function useTable(place: Place, enabled: boolean) {
  const find = place.regex ? '' : place.find;
  const limit = place.regex && place.find !== '' ? REGEX_PAGE : PAGE;
  const question = {
    ...selectionOf(place),
    by: place.by,
    sort: place.sort,
    limit,
    ...(find === '' ? {} : { find }),
  };
  return useInfiniteQuery({
    queryKey: ['table', question],
    queryFn: ({ pageParam, signal }) => askTable({ ...question, offset: pageParam }, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => {
      const read = pages.reduce((sum, page) => sum + page.rows.length, 0);
      return last.rows.length > 0 && read < last.rows_total ? read : undefined;
    },
    placeholderData: keepPreviousData,
    refetchInterval: refreshEvery(place),
    enabled,
  });
}

export function useFlame(place: Place, enabled: boolean) {
  const question = { ...selectionOf(place), nodes: FLAME_NODES };
  return useQuery({
    queryKey: ['flame', question],
    queryFn: ({ signal }) => askFlame(question, signal),
    placeholderData: keepPreviousData,
    refetchInterval: refreshEvery(place),
    structuralSharing: false, // typed arrays: comparing them costs more than drawing them
    enabled,
  });
}

/** Rows of a comparison that are asked for: those with the largest changes. */
const DIFF_ROWS = 500;

/** Shuffling and resampling visits takes the server seconds: live pages ask again only each minute. */
const SLOWLY = 60_000;

export function useDiff(place: Place, enabled: boolean) {
  const share = comparedShare(place);
  const question = { ...diffQuery(place), by: place.by, limit: DIFF_ROWS, share };
  return useQuery({
    queryKey: ['diff', question],
    queryFn: ({ signal }) => askDiff(question, signal),
    placeholderData: keepPreviousData,
    refetchInterval: refreshEvery(place) && SLOWLY,
    enabled,
  });
}

export function useReliability(place: Place, enabled: boolean) {
  const question = { ...selectionOf(place), by: place.by };
  return useQuery({
    queryKey: ['reliability', question],
    queryFn: ({ signal }) => askReliability(question, signal),
    placeholderData: keepPreviousData,
    refetchInterval: refreshEvery(place) && SLOWLY,
    enabled,
  });
}

/** `find`: only values with this text, asked of the server, who knows more of them than it sends. */
export function useLabels(place: Place, enabled: boolean, find = '') {
  const question = { ...selectionOf(place), ...(find === '' ? {} : { find }) };
  return useQuery({
    queryKey: ['labels', question],
    queryFn: ({ signal }) => askLabels(question, signal),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    enabled,
  });
}

/** Asked every two seconds until the first capture has been ingested, then every ten. */
export function useStatus() {
  return useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => askStatus(signal),
    refetchInterval: (query) => (query.state.data?.latest === null ? 2_000 : 10_000),
  });
}
