/** The page's place (selection/place.ts) bound to the URL. */
import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { formatPlace, parsePlace, type Place } from '../selection/place.ts';

/** `push`: Back returns to the previous state. `replace`: an intermediate step, such as a typed letter. */
export type How = 'push' | 'replace';
export type Go = (change: Partial<Place>, how?: How) => void;

const MOVED = 'fleetprof:moved'; // history.pushState dispatches no event

function subscribe(listener: () => void): () => void {
  addEventListener('popstate', listener);
  addEventListener(MOVED, listener);
  return () => {
    removeEventListener('popstate', listener);
    removeEventListener(MOVED, listener);
  };
}

export function usePlace(): [Place, Go] {
  const query = useSyncExternalStore(subscribe, () => location.search);
  const place = useMemo(() => parsePlace(query), [query]);
  const go = useCallback<Go>((change, how = 'push') => {
    // From the URL, not from the render: two changes in one event must both apply.
    const next = formatPlace({ ...parsePlace(location.search), ...change });
    if (next === location.search) return;
    const url = location.pathname + next;
    if (how === 'push') history.pushState(null, '', url);
    else history.replaceState(null, '', url);
    dispatchEvent(new Event(MOVED));
  }, []);
  return [place, go];
}
