/** Dark or light: the operating system's setting until the user chooses; the choice is stored. */
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { Theme, ThemeChoice } from './theme.ts';

const KEY = 'fleetprof:theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function remembered(): ThemeChoice {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'dark' || value === 'light' ? value : 'system';
  } catch {
    return 'system'; // storage is forbidden: the choice lasts as long as the page
  }
}

function remember(choice: ThemeChoice): void {
  try {
    if (choice === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch {
    // as above
  }
}

export function useTheme(): Theme {
  const systemDark = useSyncExternalStore(
    (listener) => {
      system.addEventListener('change', listener);
      return () => system.removeEventListener('change', listener);
    },
    () => system.matches,
  );
  const [choice, setChoice] = useState<ThemeChoice>(remembered);
  const dark = choice === 'system' ? systemDark : choice === 'dark';
  useEffect(() => {
    document.documentElement.style.colorScheme = dark ? 'dark' : 'light';
  }, [dark]);
  const choose = useCallback((next: ThemeChoice) => {
    remember(next);
    setChoice(next);
  }, []);
  return useMemo(() => ({ dark, choice, choose }), [dark, choice, choose]);
}

/** The other colours. A choice equal to the system's setting is none, so that the page follows the system again. */
export function otherThan(dark: boolean): ThemeChoice {
  if (system.matches !== dark) return 'system';
  return dark ? 'light' : 'dark';
}
