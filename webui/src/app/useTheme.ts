/** Dark or light: the operating system's setting until the user chooses; the choice is stored. */
import { useCallback, useEffect, useSyncExternalStore, useState } from 'react';

type Choice = 'dark' | 'light' | null;

const KEY = 'fleetprof:theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function remembered(): Choice {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'dark' || value === 'light' ? value : null;
  } catch {
    return null; // storage is forbidden: the choice lasts as long as the page
  }
}

function remember(choice: Choice): void {
  try {
    if (choice === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch {
    // as above
  }
}

export function useTheme(): { dark: boolean; toggle: () => void } {
  const systemDark = useSyncExternalStore(
    (listener) => {
      system.addEventListener('change', listener);
      return () => system.removeEventListener('change', listener);
    },
    () => system.matches,
  );
  const [choice, setChoice] = useState<Choice>(remembered);
  const dark = choice === null ? systemDark : choice === 'dark';
  useEffect(() => {
    document.documentElement.style.colorScheme = dark ? 'dark' : 'light';
  }, [dark]);
  const toggle = useCallback(() => {
    // A choice equal to the system's setting is removed, so that the page follows the system again.
    const wanted = !dark;
    const next: Choice = wanted === systemDark ? null : wanted ? 'dark' : 'light';
    remember(next);
    setChoice(next);
  }, [dark, systemDark]);
  return { dark, toggle };
}
