/**
 * The page's half of a session; the other half is a cookie that scripts cannot read. Cookies ignore ports:
 * a server on another port of this host receives them too. localStorage is separate for each port.
 */
import { problemOf, unreachable } from './problem.ts';

export const SESSION_HEADER = 'X-Fleetprof-Session';
const KEY = 'fleetprof:session';
const FRAGMENT = '#session=';

/** Used if storage is forbidden or full: the session then lasts as long as the page. */
let held = '';

function remember(binding: string): void {
  held = '';
  try {
    if (binding === '') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, binding);
  } catch {
    held = binding;
  }
}

/**
 * Stores the session that a login has put into the URL's fragment, and removes it from the URL. Any page can
 * open this one with a fragment. If a session is stored already, the server decides between the two by the
 * cookie, which a login replaces and another page cannot.
 */
export async function takeSession(): Promise<void> {
  if (!location.hash.startsWith(FRAGMENT)) return;
  const binding = location.hash.slice(FRAGMENT.length);
  history.replaceState(null, '', location.pathname + location.search);
  if (session() === '' || (await isAccepted(binding))) remember(binding);
}

async function isAccepted(binding: string): Promise<boolean> {
  try {
    const response = await fetch('/api/v1/status', { headers: { [SESSION_HEADER]: binding } });
    return response.status !== 401;
  } catch {
    return false;
  }
}

/** Value of SESSION_HEADER; empty: this browser is not logged in. */
export function session(): string {
  try {
    return localStorage.getItem(KEY) ?? held;
  } catch {
    return held;
  }
}

/** Ends the session for all tabs and copies; throws an ApiProblem if the server did not end it. */
export async function signOut(): Promise<void> {
  let response: Response;
  try {
    response = await fetch('/logout', { method: 'POST', headers: { [SESSION_HEADER]: session() } });
  } catch {
    throw unreachable();
  }
  if (!response.ok) throw problemOf(response, null);
  remember('');
}
