/** Queries of the symbols page: previous data is kept during a refetch, and pending work is polled. */
import type { QueryOf } from '../../api/client.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import type { SymbolsPlace } from '../../app/pages.ts';

export const PAGE = 200;
/** Each binary is a block of its own on a phone. */
export const PHONE_PAGE = 25;
const QUIET = 15_000;
const BUSY = 1_500;

export function useSymbols(place: Pick<SymbolsPlace, 'show' | 'sort' | 'find'>, rows: number) {
  const { show, sort, find } = place;
  const query: QueryOf<'/api/v1/symbols'> = { show, sort, limit: rows, ...(find === '' ? {} : { find }) };
  return useAnswer('/api/v1/symbols', query, {
    every: (answer) => (answer?.binaries.some((b) => (b.reprocessing?.left ?? 0) > 0) ? BUSY : QUIET),
  });
}

/** `eager`: a change is expected soon. */
export function useBinary(key: string, eager = false) {
  return useAnswer(
    '/api/v1/symbols/{key}',
    {},
    {
      path: { key },
      enabled: key !== '',
      every: (answer) => (eager || (answer?.binary.reprocessing?.left ?? 0) > 0 ? BUSY : QUIET),
    },
  );
}
