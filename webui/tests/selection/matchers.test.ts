import { describe, expect, it } from 'vitest';
import {
  formatMatchers,
  isOnFrames,
  literal,
  mistakeIn,
  OPERATORS,
  parseMatchers,
  withMatcher,
  type Matcher,
} from '../../src/selection/matchers.ts';
import badPatterns from '../../../tests/golden/selections/bad_patterns.json';
import matchersOf from '../../../tests/golden/selections/matchers.json';
import mistakes from '../../../tests/golden/selections/mistakes.json';
import { random } from '../flame/grow.ts';

const m = (label: string, operator: Matcher['operator'], value: string): Matcher => ({
  label,
  operator,
  value,
});

// The server's reader is held to the same goldens.
describe('the grammar', () => {
  it.each(matchersOf)('reads $text', ({ text, matchers, written }) => {
    expect(parseMatchers(text)).toEqual(matchers);
    expect(mistakeIn(text)).toBeNull();
    expect(formatMatchers(matchers as Matcher[])).toBe(written === '{}' ? '' : written);
  });

  it.each(mistakes)('points at the mistake in $text', ({ text, at, said }) => {
    expect(parseMatchers(text)).toBeNull();
    expect(mistakeIn(text)?.at).toBe(at);
    expect(mistakeIn(text)?.message).toContain(said);
  });

  it.each(badPatterns)('leaves the pattern of $text to the server', ({ text }) => {
    expect(parseMatchers(text)).not.toBeNull();
  });

  it('has the limits of the server', () => {
    expect(mistakeIn('a="1",'.repeat(33))).toMatchObject({ at: 192 });
    expect(mistakeIn('ü'.repeat(5000))).toMatchObject({ at: 4096 });
    expect(mistakeIn(`${'n'.repeat(257)}="1"`)).toMatchObject({ at: 0 });
  });

  it('reads what formatMatchers writes', () => {
    const next = random(11);
    const alphabet = ['a', '"', '\\', '\n', '\t', ',', '{', '}', '=', '~', 'ü', ' '];
    for (let k = 0; k < 500; k++) {
      const matchers = Array.from({ length: Math.floor(next() * 4) }, () =>
        m(
          ['label_1', 'app', 'thread id', 'größe', 'self.function', 'toString'][Math.floor(next() * 6)],
          OPERATORS[Math.floor(next() * 4)],
          Array.from(
            { length: Math.floor(next() * 8) },
            () => alphabet[Math.floor(next() * alphabet.length)],
          ).join(''),
        ),
      );
      expect(parseMatchers(formatMatchers(matchers))).toEqual(matchers);
    }
  });
});

describe('withMatcher', () => {
  it('replaces the value of a label and adds exclusions', () => {
    const one = withMatcher([], m('app', '=', 'a'));
    expect(withMatcher(one, m('app', '=', 'b'))).toEqual([m('app', '=', 'b')]);
    expect(withMatcher([m('app', '!=', 'a')], m('app', '!=', 'b'))).toHaveLength(2);
    expect(withMatcher(one, m('app', '!=', 'a'))).toEqual([m('app', '!=', 'a')]);
    expect(withMatcher(one, m('machine', '=', 'a'))).toHaveLength(2);
  });
});

it('escapes a name for a regular expression', () => {
  const name = 'f(int*)::operator[] + $x^{a|b}?';
  expect(new RegExp(`^${literal(name)}$`).test(name)).toBe(true);
});

it('tells frames from labels', () => {
  const on = (label: string): boolean => isOnFrames(m(label, '=', 'x'));
  expect(['function', 'self.binary', 'file'].map(on)).toEqual([true, true, true]);
  expect(['application', 'self.line', 'functions'].map(on)).toEqual([false, false, false]);
});
