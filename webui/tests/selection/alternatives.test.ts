import { describe, expect, it } from 'vitest';
import { alternativesOf, exactName, withoutAlternative } from '../../src/selection/alternatives.ts';
import { literal } from '../../src/selection/matchers.ts';

describe('alternatives', () => {
  it.each([
    ['^a$|^b$', ['^a$', '^b$']],
    ['(a|b)c|d', ['(a|b)c', 'd']],
    ['[|]|x', ['[|]', 'x']],
    ['[]|]|x', ['[]|]', 'x']],
    ['[^]|]|x', ['[^]|]', 'x']],
    ['a\\|b|c', ['a\\|b', 'c']],
    ['\\Qa|b\\E|c', ['\\Qa|b\\E', 'c']],
    ['(?i)a|b', ['(?i)a|b']],
    ['(a|b', ['(a|b']],
    ['', ['']],
  ])('of %s', (pattern, parts) => expect(alternativesOf(pattern)).toEqual(parts));

  it('leaves the others when one is removed', () => {
    expect(withoutAlternative('a|(b|c)|d', 1)).toBe('a|d');
    expect(withoutAlternative('a', 0)).toBe('');
  });

  it('shows exact names without their escapes', () => {
    const name = 'std::vector<int>::operator[](unsigned long) const';
    expect(exactName(`^${literal(name)}$`)).toBe(name);
    expect(exactName('^mem.*$')).toBeNull();
    expect(exactName('mem')).toBeNull();
  });
});
