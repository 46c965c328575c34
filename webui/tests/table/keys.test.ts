import { expect, it } from 'vitest';
import { moved, withKey, withoutKey } from '../../src/table/keys.ts';

it('adds, replaces and removes keys in their order', () => {
  expect(withKey('function', 'version')).toBe('function,version');
  expect(withKey('function,version', 'platform', 0)).toBe('platform,version');
  expect(withKey('function,version', 'version', 0)).toBe('function,version');
  expect(withoutKey('function,version', 0)).toBe('version');
  expect(withoutKey('function', 0)).toBe('function');
});

it('moves a key by one place', () => {
  expect(moved('a,b,c', 1, -1)).toBe('b,a,c');
  expect(moved('a,b,c', 1, 1)).toBe('a,c,b');
  expect(moved('a,b,c', 0, -1)).toBe('a,b,c');
});
