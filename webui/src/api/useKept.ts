/** Keeps the last answer while only the page's time moves on and the newest request fails. */
import { useEffect, useMemo, useRef } from 'react';

interface Result {
  data: unknown;
  error: Error | null;
  isPlaceholderData: boolean;
}

const TIMES = new Set(['from', 'to', 'base_from', 'base_to']);

/** The question without its times, as text. */
export function timelessOf(question: object): string {
  return JSON.stringify(question, (name, value: unknown) => (TIMES.has(name) ? undefined : value));
}

export function useKept<R extends Result>(result: R, question: object): R {
  const of = useMemo(() => timelessOf(question), [question]);
  const kept = useRef<{ of: string; data: unknown } | null>(null);
  const { data, error, isPlaceholderData } = result;
  useEffect(() => {
    if (data !== undefined && !isPlaceholderData) kept.current = { of, data };
  }, [of, data, isPlaceholderData]);
  if (data !== undefined || error === null || kept.current?.of !== of) return result;
  return { ...result, data: kept.current.data };
}
