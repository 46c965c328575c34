/** Addresses of the pages when `/` showed profiles: links to them still work. */
import { readable } from '../selection/params.ts';

const VIEWS: Readonly<Record<string, string>> = { diff: '/compare', reliability: '/reports/reliability' };
/** Parameters of `/` that only the former page had. */
const FORMER = ['view', 'by', 'sort', 'find', 'regex', 'mark', 'node', 'direction'];

/** The address that replaces this one; null if it is a present one. */
export function formerAddress(path: string, search: string): string | null {
  if (path !== '/') return null;
  const query = new URLSearchParams(search);
  if (!FORMER.some((name) => query.has(name))) return null;
  const view = query.get('view') ?? '';
  if (view in VIEWS) query.delete('view');
  return (VIEWS[view] ?? '/explore') + readable(query);
}
