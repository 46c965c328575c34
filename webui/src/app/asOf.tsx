/**
 * The moment that `now` means on the whole page. It moves once a minute while the tab is visible and no request
 * is under way, so that a refresh never repeats a slow question that is still being answered.
 */
import { useIsFetching } from '@tanstack/react-query';
import { createContext, use, useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { minuteOf } from '../selection/time.ts';

const EVERY_MS = 60_000;
/** The next refresh waits this many times as long as the answers of the last one took. */
const PATIENCE = 10;

interface AsOf {
  /** Milliseconds since 1970. */
  asOf: number;
  /** Moves it to this second. */
  refresh: () => void;
}

const Context = createContext<AsOf>({ asOf: 0, refresh: () => undefined });

export function AsOfProvider({ children }: { children: ReactNode }) {
  const [asOf, setAsOf] = useState(() => minuteOf(Date.now()));
  const refresh = useCallback(() => setAsOf(Math.floor(Date.now() / 1000) * 1000), []);
  const fetching = useIsFetching({ predicate: (query) => query.meta?.['ranged'] === true }) > 0;

  const began = useRef(0);
  const took = useRef(0);
  useEffect(() => {
    if (fetching) began.current = performance.now();
    else if (began.current > 0) took.current = performance.now() - began.current;
  }, [fetching]);

  useEffect(() => {
    if (fetching) return;
    let timer = 0;
    const wait = (): void => {
      const due = asOf + Math.max(EVERY_MS, PATIENCE * took.current);
      timer = window.setTimeout(
        () => {
          if (!document.hidden) setAsOf(Math.max(asOf, minuteOf(Date.now())));
        },
        Math.max(1000, due - Date.now()),
      );
    };
    const onVisible = (): void => {
      clearTimeout(timer);
      if (!document.hidden) wait();
    };
    wait();
    document.addEventListener('visibilitychange', onVisible);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [asOf, fetching]);

  return <Context value={useMemo(() => ({ asOf, refresh }), [asOf, refresh])}>{children}</Context>;
}

export function useAsOf(): AsOf {
  return use(Context);
}
