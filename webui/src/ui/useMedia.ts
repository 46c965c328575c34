/** Whether the window matches a media query, for layouts with other elements; CSS does the rest. */
import { useCallback, useSyncExternalStore } from 'react';

/** A phone, as in the style sheets. */
export const NARROW = '(width <= 760px)';

export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const list = matchMedia(query);
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}
