/** The colours of the page, and the reader's choice of them. */
import { createContext, use } from 'react';

/** system: as the operating system has it. */
export type ThemeChoice = 'system' | 'light' | 'dark';

export interface Theme {
  dark: boolean;
  choice: ThemeChoice;
  choose: (choice: ThemeChoice) => void;
}

export const ThemeContext = createContext<Theme>({ dark: false, choice: 'system', choose: () => undefined });

export function useThemeChoice(): Theme {
  return use(ThemeContext);
}

/** Whether the page is dark, for canvases, which cannot use CSS colours. */
export function useDark(): boolean {
  return use(ThemeContext).dark;
}
