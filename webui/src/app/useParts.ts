/** The decoded parts of the path that a page's pattern names: of `/asm/:binary/:fn` the binary and the function. */
import { usePathname } from 'wouter/use-browser-location';
import type { PageOf } from './pages.ts';

export function useParts(page: PageOf): string[] {
  const path = usePathname().split('/');
  return page.path.split('/').flatMap((name, at) => (name.startsWith(':') ? [decoded(path[at] ?? '')] : []));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand: a % that escapes nothing
  }
}
