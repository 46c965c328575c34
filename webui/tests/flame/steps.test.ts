import { expect, it } from 'vitest';
import { stepIn, stepLeft, stepMatch, stepOut, stepRight } from '../../src/flame/steps.ts';
import { tree } from './grow.ts';

const t = tree(100, [
  [0, 'a', 60],
  [1, 'b', 50],
  [0, 'c', 30],
  [0, 'd', 5],
]);

it('moves along the tree and stays where there is no way on', () => {
  expect([stepIn(t, 0), stepIn(t, 1), stepIn(t, 2)]).toEqual([1, 2, 2]);
  expect([stepOut(t, 2), stepOut(t, 0)]).toEqual([1, 0]);
  expect([stepRight(t, 1), stepRight(t, 3), stepRight(t, 4), stepRight(t, 0)]).toEqual([3, 4, 4, 0]);
  expect([stepLeft(t, 4), stepLeft(t, 3), stepLeft(t, 1), stepLeft(t, 0)]).toEqual([3, 1, 1, 0]);
});

it('goes round the matches', () => {
  expect(stepMatch([2, 5, 9], 0, 1)).toBe(2);
  expect(stepMatch([2, 5, 9], 5, 1)).toBe(9);
  expect(stepMatch([2, 5, 9], 9, 1)).toBe(2);
  expect(stepMatch([2, 5, 9], 2, -1)).toBe(9);
  expect(stepMatch([], 3, 1)).toBe(-1);
});
