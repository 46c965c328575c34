import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  includes,
  keepAddress,
  session,
  SESSION_HEADER,
  signIn,
  signOut,
  takeSession,
} from '../../src/api/session.ts';

const KEY = 'fleetprof:session';
const stored = new Map<string, string>();
const asked = vi.fn();
const replaced = vi.fn();

function opened(hash: string, pathname = '/symbols', search = '?a=1'): void {
  vi.stubGlobal('location', { hash, pathname, search });
}

function storage(setItem = (key: string, value: string): unknown => stored.set(key, value)): void {
  const getItem = (key: string) => stored.get(key) ?? null;
  vi.stubGlobal('localStorage', { getItem, setItem, removeItem: (key: string) => stored.delete(key) });
}

beforeEach(() => {
  stored.clear();
  asked.mockReset();
  replaced.mockReset();
  vi.stubGlobal('fetch', asked);
  vi.stubGlobal('history', { replaceState: replaced });
  storage();
});

describe('GIVEN a fragment with a session WHEN the page opens', () => {
  it('THEN a browser without one keeps it, and the address loses it', async () => {
    opened('#session=new');
    await takeSession();
    expect(session()).toBe('new');
    expect(asked).not.toHaveBeenCalled();
    expect(replaced).toHaveBeenCalledWith(null, '', '/symbols?a=1');
  });

  it.each([
    [200, 'new'],
    [503, 'new'],
    [401, 'old'],
  ])('THEN one that has a session asks for the new one, and after %i has the %s', async (status, kept) => {
    stored.set(KEY, 'old');
    opened('#session=new');
    asked.mockResolvedValue({ status });
    await takeSession();
    expect(asked).toHaveBeenCalledExactlyOnceWith('/api/v1/session', {
      headers: { [SESSION_HEADER]: 'new' },
    });
    expect(session()).toBe(kept);
    expect(replaced).toHaveBeenCalledOnce();
  });

  it('THEN what cannot be a header changes nothing, nor does a server that does not answer', async () => {
    stored.set(KEY, 'old');
    opened('#session=x');
    asked.mockRejectedValue(new TypeError());
    await takeSession();
    expect(session()).toBe('old');
  });

  it('THEN it lasts as long as the page where storage is full', async () => {
    storage(() => {
      throw new Error('QuotaExceededError');
    });
    opened('#session=new');
    await takeSession();
    expect(session()).toBe('new');
  });
});

describe('GIVEN an address at which sign-in was needed WHEN a link opens a session', () => {
  beforeEach(() => asked.mockResolvedValue({ status: 200 }));

  it('THEN the page goes to that address, once', async () => {
    opened('');
    keepAddress();
    opened('#session=new', '/', '');
    await takeSession();
    expect(replaced).toHaveBeenLastCalledWith(null, '', '/symbols?a=1');
    replaced.mockReset();
    opened('#session=new', '/', '');
    await takeSession();
    expect(replaced).not.toHaveBeenCalledWith(null, '', '/symbols?a=1');
  });

  it.each([
    ['//evil.example', 0],
    ['/\\evil.example', 0],
    ['https://evil.example', 0],
    [7, 0],
    ['/symbols', 3_600_001],
  ])('THEN it does not go to %s of %i ms ago', async (path, age) => {
    stored.set('fleetprof:return', JSON.stringify({ path, at: Date.now() - age }));
    opened('#session=new', '/', '');
    await takeSession();
    expect(replaced).toHaveBeenCalledExactlyOnceWith(null, '', '/');
  });

  it('THEN a link with an address of its own keeps it', async () => {
    opened('', '/compare');
    keepAddress();
    opened('#session=new');
    await takeSession();
    expect(replaced).toHaveBeenCalledExactlyOnceWith(null, '', '/symbols?a=1');
  });
});

describe('GIVEN a token', () => {
  const answer = (status: number, document: unknown) =>
    new Response(JSON.stringify(document), { status, headers: { 'X-Request-ID': 'r1' } });

  it('WHEN the server accepts it THEN the session is kept and the token is not', async () => {
    asked.mockResolvedValue(answer(200, { binding: 'b', role: 'viewer', kind: 'session' }));
    expect((await signIn('secret')).role).toBe('viewer');
    expect(session()).toBe('b');
    expect([...stored.values()].join()).not.toContain('secret');
    expect(asked.mock.calls[0]![0]).toBe('/login');
  });

  it('WHEN the server refuses it THEN its sentence is passed on', async () => {
    const before = session();
    asked.mockResolvedValue(answer(429, { detail: 'Too many wrong tokens.', hint: 'Retry in 9 seconds.' }));
    await expect(signIn('x')).rejects.toMatchObject({
      status: 429,
      message: 'Too many wrong tokens.',
      hint: 'Retry in 9 seconds.',
    });
    expect(session()).toBe(before);
  });

  it('WHEN the server does not end a session THEN it stays', async () => {
    stored.set(KEY, 'old');
    asked.mockResolvedValue(answer(503, { detail: 'The database does not respond.' }));
    await expect(signOut()).rejects.toMatchObject({ message: 'The database does not respond.' });
    expect(session()).toBe('old');
  });
});

it('each role includes the lower ones', () => {
  expect([includes('operator', 'viewer'), includes('viewer', 'operator')]).toEqual([true, false]);
});
