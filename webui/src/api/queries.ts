/** The page's queries: previous data is kept during a refetch, and live ranges are refetched regularly. */
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { comparedShare, diffQuery } from '../compare/base.ts';
import { selectionOf, type Place } from '../selection/place.ts';
import { refreshEvery } from '../selection/time.ts';
import { askDiff, askFlame, askLabels, askReliability, askStatus, askTable } from './client.ts';
import { ApiProblem } from './problem.ts';

const PAGE = 200;
/** Rows that are fetched for a search by regular expression in the page: the server finds only plain text. */
const REGEX_PAGE = 5000;
/** Requested frames, the server's maximum: deep stacks of few samples each make many. */
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

/** Requested rows of a comparison: those with the largest changes. */
const DIFF_ROWS = 500;

/** Permuting and resampling visits takes the server seconds: live pages refetch them only once a minute. */
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

/** `find`: only values that contain this text; the server searches more values than it sends. */
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

/** Refetched every two seconds until the first capture is ingested, then every ten. */
export function useStatus() {
  return useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => askStatus(signal),
    refetchInterval: (query) => (query.state.data?.latest === null ? 2_000 : 10_000),
  });
}
