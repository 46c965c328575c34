/**
 * Questions to the API as React hooks.
 *
 * A question is a route and its parameters, which are also its key in the cache. Ranges are absolute, so an answer
 * about a range does not change and is never requested again; a live page requests new ranges (app/asOf.tsx).
 */
import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { read, type AnswerOf, type GetRoute, type PathOf, type QueryOf } from './client.ts';
import { ApiProblem } from './problem.ts';
import { useKept } from './useKept.ts';

const RETRIES = 2;

export function retryPassing(failures: number, error: Error): boolean {
  return failures < RETRIES && !(error instanceof ApiProblem && !error.isPassing);
}

/** Milliseconds before a retry: what the server wants, or longer after each failure. */
export function retryDelay(failures: number, error: Error): number {
  const wanted = error instanceof ApiProblem ? error.retryAfter : null;
  return wanted === null ? 500 * 2 ** failures : 1000 * wanted;
}

export interface Options<R extends GetRoute> {
  /** Parts of the route's path. */
  path?: PathOf<R>;
  enabled?: boolean;
  /** Milliseconds between requests, for answers without a range; default: only once. */
  every?: number | ((answer: AnswerOf<R> | undefined) => number | false);
}

/** How long answers without a range are used before they are requested again, in milliseconds. */
const FRESH_MS = 10_000;

export function questionOf<R extends GetRoute>(route: R, query: QueryOf<R>, path?: PathOf<R>) {
  const ranged = typeof query === 'object' && query !== null && 'to' in query;
  return {
    queryKey: [route, query, path ?? null],
    queryFn: ({ signal }: { signal: AbortSignal }) => read(route, query, path, signal),
    staleTime: ranged ? Infinity : FRESH_MS,
    meta: { ranged },
  };
}

export function useAnswer<R extends GetRoute>(
  route: R,
  query: QueryOf<R>,
  { path, enabled = true, every }: Options<R> = {},
): UseQueryResult<AnswerOf<R>, Error> {
  const result = useQuery<AnswerOf<R>, Error>({
    ...questionOf(route, query, path),
    placeholderData: keepPreviousData,
    enabled,
    refetchInterval:
      typeof every === 'function' ? (question) => every(question.state.data) : (every ?? false),
  });
  return useKept(result, query as object);
}

/** Every two seconds until the first capture is ingested, then every ten. */
export function useStatus() {
  return useAnswer('/api/v1/status', {}, { every: (status) => (status?.latest === null ? 2_000 : 10_000) });
}
