/**
 * The page's half of a session; the other half is a cookie that scripts cannot read. Cookies ignore ports:
 * a server on another port of this host receives them too. localStorage is separate for each port.
 */
import { ApiProblem, problemOf, unreachable } from './problem.ts';
import type { components } from './schema.gen.ts';

export type CurrentSession = components['schemas']['CurrentSession'];
export type Role = CurrentSession['role'];
type OpenedSession = components['schemas']['OpenedSession'];
type SignInWays = components['schemas']['SignInWays'];

export const SESSION_HEADER = 'X-Fleetprof-Session';
const KEY = 'fleetprof:session';
const FRAGMENT = '#session=';
const RETURN_KEY = 'fleetprof:return';
/** A link that is opened later leads to the start page: the reader has forgotten the address by then. */
const RETURN_MS = 3_600_000;
const ROLES: readonly Role[] = ['viewer', 'operator', 'admin'];

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
 * cookie, which a login replaces and another page cannot. Then the page goes to the address at which sign-in
 * was needed, if that was in the last hour.
 */
export async function takeSession(): Promise<void> {
  if (!location.hash.startsWith(FRAGMENT)) return;
  const binding = location.hash.slice(FRAGMENT.length);
  history.replaceState(null, '', location.pathname + location.search);
  if (session() !== '' && !(await isAccepted(binding))) return;
  remember(binding);
  const address = location.pathname + location.search === '/' ? takeAddress() : '';
  if (address !== '') history.replaceState(null, '', address);
}

async function isAccepted(binding: string): Promise<boolean> {
  try {
    const response = await fetch('/api/v1/session', { headers: { [SESSION_HEADER]: binding } });
    return response.status !== 401;
  } catch {
    return false;
  }
}

/** Keeps the present address for the session that a link opens, in this tab or another one. */
export function keepAddress(): void {
  try {
    const path = location.pathname + location.search;
    if (path === '/') localStorage.removeItem(RETURN_KEY);
    else localStorage.setItem(RETURN_KEY, JSON.stringify({ path, at: Date.now() }));
  } catch {
    // Storage is forbidden: a link leads to the start page.
  }
}

function takeAddress(): string {
  try {
    const text = localStorage.getItem(RETURN_KEY) ?? '{}';
    localStorage.removeItem(RETURN_KEY);
    const { path, at } = JSON.parse(text) as { path?: unknown; at?: unknown };
    const isRecent = typeof at === 'number' && Date.now() - at < RETURN_MS;
    return isRecent && typeof path === 'string' && /^\/(?![/\\])/.test(path) ? path : '';
  } catch {
    return '';
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

/** Calls the listener when another tab signs in. Returns a function that stops this. */
export function onSignInElsewhere(listener: () => void): () => void {
  const heard = (event: StorageEvent): void => {
    if (event.key === KEY && event.newValue !== null) listener();
  };
  addEventListener('storage', heard);
  return () => removeEventListener('storage', heard);
}

/** Opens a session by an API token; throws an ApiProblem if the server refuses it. */
export async function signIn(token: string): Promise<CurrentSession> {
  const { binding, ...opened } = await answerTo<OpenedSession>('/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  remember(binding);
  return opened;
}

/** Who is signed in and until when; throws an ApiProblem. */
export function currentSession(): Promise<CurrentSession> {
  return answerTo('/api/v1/session', { headers: { [SESSION_HEADER]: session() } });
}

/** Whether a role includes another one. */
export function includes(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** How a reader of this server can sign in; throws an ApiProblem. */
export function signInWays(): Promise<SignInWays> {
  return answerTo('/api/v1/sign-in', {});
}

/** Ends the session for all tabs and copies; throws an ApiProblem if the server did not end it. */
export async function signOut(): Promise<void> {
  await responseTo('/logout', { method: 'POST', headers: { [SESSION_HEADER]: session() } });
  remember('');
}

async function answerTo<T>(path: string, init: RequestInit): Promise<T> {
  const response = await responseTo(path, init);
  return (await response.json()) as T;
}

async function responseTo(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    throw unreachable();
  }
  if (response.ok) return response;
  throw await problemIn(response);
}

async function problemIn(response: Response): Promise<ApiProblem> {
  const body: unknown = await response.json().catch(() => null);
  return problemOf(response, body);
}
