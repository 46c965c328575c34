/** Whether the page is dark, for canvases, which cannot use CSS colours. */
import { createContext, use } from 'react';

export const ThemeContext = createContext(false);

export function useDark(): boolean {
  return use(ThemeContext);
}
