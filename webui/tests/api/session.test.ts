import { beforeEach, describe, expect, it, vi } from 'vitest';
import { session, SESSION_HEADER, takeSession } from '../../src/api/session.ts';

const KEY = 'fleetprof:session';
const stored = new Map<string, string>();
const asked = vi.fn();
const replaced = vi.fn();

function opened(hash: string): void {
  vi.stubGlobal('location', { hash, pathname: '/symbols', search: '?a=1' });
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
    expect(asked).toHaveBeenCalledExactlyOnceWith('/api/v1/status', { headers: { [SESSION_HEADER]: 'new' } });
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
