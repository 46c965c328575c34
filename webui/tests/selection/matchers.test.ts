import { describe, expect, it } from 'vitest';
import {
  formatMatchers,
  literal,
  OPERATORS,
  parseMatchers,
  withMatcher,
  type Matcher,
} from '../../src/selection/matchers.ts';
import { random } from '../flame/grow.ts';

const m = (label: string, operator: Matcher['operator'], value: string): Matcher => ({
  label,
  operator,
  value,
});

describe('parseMatchers', () => {
  it.each([
    ['', []],
    ['{}', []],
    ['{application="x"}', [m('application', '=', 'x')]],
    [
      '{ application = "x" , platform=~"Zen.*", }',
      [m('application', '=', 'x'), m('platform', '=~', 'Zen.*')],
    ],
    ['{a!="b",c!~"d"}', [m('a', '!=', 'b'), m('c', '!~', 'd')]],
    ['{a="say \\"hi\\", {ok}\\\\"}', [m('a', '=', 'say "hi", {ok}\\')]],
  ])('%s', (text, expected) => {
    expect(parseMatchers(text)).toEqual(expected);
  });

  it.each(['{a}', '{a="b"', 'a="b"', '{a="b" c="d"}', '{="b"}', '{a="b"c}', '{,}', '{a=`b`}'])(
    'leaves %s to the server',
    (text) => {
      expect(parseMatchers(text)).toBeNull();
    },
  );

  it('reads what formatMatchers writes', () => {
    const next = random(11);
    const alphabet = ['a', '"', '\\', '\n', '\t', ',', '{', '}', '=', '~', 'ü', ' '];
    for (let k = 0; k < 500; k++) {
      const matchers = Array.from({ length: Math.floor(next() * 4) }, () =>
        m(
          'label_1',
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
