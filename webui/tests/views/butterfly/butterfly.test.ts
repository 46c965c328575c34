import { describe, expect, it } from 'vitest';
import { butterflyOf, type CallersAnswer } from '../../../src/views/butterfly/butterfly.ts';

function row(side: 'caller' | 'callee', id: number | null, of_function: number) {
  return {
    side,
    function_id: id,
    key: id === null ? {} : { function: `f${id}`, binary: 'app', file: '' },
    of_function,
    total_share: of_function / 2,
    total_lo: null,
    total_hi: null,
    total_core_seconds: null,
    total_seconds: null,
    total_samples: null,
    low_confidence: false,
  };
}

const ANSWER = {
  functions: [{ id: 7 }],
  rows: [row('caller', 1, 0.6), row('caller', 7, 0.3), row('caller', null, 0.1), row('callee', 2, 0.3)],
  callers_total: 5,
  callees_total: 1,
} as unknown as CallersAnswer;
const GROUND = { population: 0, estimated: 0, price: null, timed: true, random: false };

describe('the butterfly of a function', () => {
  it('separates callers and callees, and knows recursion and beginnings of stacks', () => {
    const { callers, callees, moreCallers, moreCallees } = butterflyOf(ANSWER, 'share', GROUND);
    expect(callers.map(({ id, name, isItself, ofFunction }) => [id, name, isItself, ofFunction])).toEqual([
      [1, 'f1', false, 0.6],
      [7, 'f7', true, 0.3],
      [null, '', false, 0.1],
    ]);
    expect(callers[0].amount).toEqual({ value: 0.3, lo: null, hi: null });
    expect(callees.map(({ name }) => name)).toEqual(['f2']);
    expect([moreCallers, moreCallees]).toEqual([2, 0]);
  });
});
