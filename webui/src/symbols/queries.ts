/** Queries of the symbols page: previous data is kept during a refetch, and pending work is polled. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { askBinary, askSymbols } from '../api/client.ts';
import type { SymbolsPlace } from './place.ts';

export const PAGE = 200;
const QUIET = 15_000;
const BUSY = 1_500;

export function useSymbols(place: Pick<SymbolsPlace, 'show' | 'sort' | 'find'>, rows: number) {
  const question = {
    show: place.show,
    sort: place.sort,
    limit: rows,
    ...(place.find === '' ? {} : { find: place.find }),
  };
  return useQuery({
    queryKey: ['symbols', question],
    queryFn: ({ signal }) => askSymbols(question, signal),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.binaries.some((b) => (b.reprocessing?.left ?? 0) > 0) ? BUSY : QUIET,
  });
}

/** `eager`: a change is expected soon. */
export function useBinary(key: string, eager = false) {
  return useQuery({
    queryKey: ['binary', key],
    queryFn: ({ signal }) => askBinary(key, signal),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      eager || (query.state.data?.binary.reprocessing?.left ?? 0) > 0 ? BUSY : QUIET,
    enabled: key !== '',
  });
}
