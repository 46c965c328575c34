/** A choice of this browser, kept in its storage; not in the URL, because it does not change what is shown. */
import { useCallback, useState } from 'react';

export function usePreference<T extends string | number | boolean>(
  name: string,
  initial: T,
): [T, (value: T) => void] {
  const key = `fleetprof:${name}`;
  const [value, setValue] = useState<T>(() => stored(key, initial));
  const set = useCallback(
    (next: T) => {
      setValue(next);
      try {
        localStorage.setItem(key, JSON.stringify(next));
      } catch {
        // The storage is full or forbidden: the choice lasts as long as the page.
      }
    },
    [key],
  );
  return [value, set];
}

function stored<T>(key: string, initial: T): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
    return typeof value === typeof initial ? (value as T) : initial;
  } catch {
    return initial;
  }
}
