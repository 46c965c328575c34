import { describe, expect, it } from 'vitest';
import { markOf, matchesFind, matchesMark, titleOf, type Keyed } from '../../src/table/marks.ts';
import { fn } from '../flame/grow.ts';

const row = (key: Record<string, string>, function_id: number | null = null): Keyed => ({ key, function_id });

describe('marks', () => {
  it('lead from a row to its frames', () => {
    const f = fn('malloc', { id: 17, file: 'malloc.c', binary: 'libc.so.6' });
    const other = fn('free', { id: 18, file: 'free:1.c', binary: 'b' });
    for (const [r, by] of [
      [row({ function: 'malloc' }, 17), 'function'],
      [row({ file: 'malloc.c' }), 'file'],
      [row({ binary: 'libc.so.6' }), 'binary'],
    ] as const) {
      const matches = matchesMark(markOf(r, [by])!)!;
      expect([matches(f), matches(other)]).toEqual([true, false]);
    }
    expect(matchesMark('file:free:1.c')!(other)).toBe(true);
  });

  it('are not made for rows that are no frames', () => {
    expect(markOf(row({ application: 'x' }), ['application'])).toBeNull();
    expect(markOf(row({ function: 'f', application: 'x' }, 3), ['function', 'application'])).toBeNull();
    expect(matchesMark('nonsense')).toBeNull();
    expect(matchesMark('colour:red')).toBeNull();
  });
});

describe('matchesFind', () => {
  const test = (find: string, regex: boolean, name: string): unknown => {
    const found = matchesFind(find, regex);
    return typeof found === 'function' ? found(name) : found;
  };

  it('takes plain text literally and in any case', () => {
    expect(test('operator()', false, 'x::Operator()(int)')).toBe(true);
    expect(test('a.c', false, 'abc')).toBe(false);
    expect(test('', true, 'abc')).toBeNull();
  });

  it('takes regular expressions with smart case', () => {
    expect(test('^ma.*c$', true, 'Malloc')).toBe(true);
    expect(test('^Ma', true, 'malloc')).toBe(false);
    expect(test('ma(', true, 'malloc')).toBe('invalid');
  });
});

it('titles rows by their keys', () => {
  expect(titleOf(row({ application: '', machine: 'm1' }), ['application', 'machine'])).toBe('(none) · m1');
});
