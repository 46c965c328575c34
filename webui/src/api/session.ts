/**
 * The half of a session that the page keeps; the other is a cookie that scripts cannot read. Cookies know no ports:
 * whatever listens on another port of this host is sent them. localStorage is of one port.
 */
import { problemOf, unreachable } from './problem.ts';

export const SESSION_HEADER = 'X-Fleetprof-Session';
const KEY = 'fleetprof:session';
const FRAGMENT = '#session=';

/** Where storage is forbidden: the session then lasts as long as the page. */
let held = '';

function remember(binding: string): void {
  held = binding;
  try {
    if (binding === '') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, binding);
  } catch {
    // as above
  }
}

/** Keeps what a login has put behind the address, and takes it away there. */
export function takeSession(): void {
  if (!location.hash.startsWith(FRAGMENT)) return;
  remember(location.hash.slice(FRAGMENT.length));
  history.replaceState(null, '', location.pathname + location.search);
}

/** For SESSION_HEADER; empty: this browser is not logged in. */
export function session(): string {
  try {
    return localStorage.getItem(KEY) ?? '';
  } catch {
    return held;
  }
}

/** Ends the session for every tab and every copy of it; throws an ApiProblem if the server did not. */
export async function signOut(): Promise<void> {
  let response: Response;
  try {
    response = await fetch('/logout', { method: 'POST', headers: { [SESSION_HEADER]: session() } });
  } catch {
    throw unreachable();
  }
  if (!response.ok) throw problemOf(response.status, response.headers.get('X-Request-ID'), null);
  remember('');
}
