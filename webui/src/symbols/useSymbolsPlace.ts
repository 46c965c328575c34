/** The page's place (symbols/place.ts) bound to the URL. */
import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { formatSymbolsPlace, parseSymbolsPlace, SYMBOLS_PATH, type SymbolsPlace } from './place.ts';

export type SymbolsGo = (change: Partial<SymbolsPlace>) => void;

const MOVED = 'fleetprof:symbols-moved'; // history.replaceState dispatches no event

function subscribe(listener: () => void): () => void {
  addEventListener('popstate', listener);
  addEventListener(MOVED, listener);
  return () => {
    removeEventListener('popstate', listener);
    removeEventListener(MOVED, listener);
  };
}

export function useSymbolsPlace(): [SymbolsPlace, SymbolsGo] {
  const query = useSyncExternalStore(subscribe, () => location.search);
  const place = useMemo(() => parseSymbolsPlace(query), [query]);
  const go = useCallback<SymbolsGo>((change) => {
    const next = formatSymbolsPlace({ ...parseSymbolsPlace(location.search), ...change });
    if (next === location.search) return;
    // Back leads to the profile from which this page was opened, not through each typed letter.
    history.replaceState(null, '', SYMBOLS_PATH + next);
    dispatchEvent(new Event(MOVED));
  }, []);
  return [place, go];
}
