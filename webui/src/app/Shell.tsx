/** What every page has: navigation, theme, help, search, messages, and the sign-in if there is no session. */
import { useCallback, useMemo, useState, type ReactNode } from 'react';
import { LoggedOut } from '../ui/states/LoggedOut.tsx';
import { Help } from './Help.tsx';
import { NavBar } from './NavBar.tsx';
import { ThemeContext } from './theme.ts';
import { ToastProvider } from './Toast.tsx';
import { useKeys, type Keys } from './useKeys.ts';
import { useSignedOut } from './signedOut.ts';
import { otherThan, useTheme } from './useTheme.ts';
import { CommandPalette } from './CommandPalette.tsx';

export function Shell({ children }: { children: ReactNode }) {
  const theme = useTheme();
  const { dark, choose } = theme;
  const toggle = useCallback(() => choose(otherThan(dark)), [choose, dark]);
  const [help, setHelp] = useState(false);
  const [search, setSearch] = useState(false);
  const signedOut = useSignedOut();
  useKeys(
    'Everywhere',
    useMemo<Keys>(
      () => ({
        'mod+k': ['search functions, services, machines, binaries', () => setSearch(true)],
        t: ['dark or light', toggle],
        '?': ['this list', () => setHelp(true)],
      }),
      [toggle],
    ),
  );
  if (signedOut) return <LoggedOut />;
  return (
    <ThemeContext value={theme}>
      <ToastProvider>
        <a className="skip" href="#main">
          Skip to the content
        </a>
        <NavBar dark={dark} toggleTheme={toggle} help={() => setHelp(true)} search={() => setSearch(true)} />
        {children}
        <Help open={help} close={() => setHelp(false)} />
        {search && <CommandPalette close={() => setSearch(false)} />}
      </ToastProvider>
    </ThemeContext>
  );
}
