import { describe, expect, it } from 'vitest';
import { isBounded, reachesZero, times, wilson } from '../../src/estimates/interval.ts';
import { random } from '../flame/grow.ts';

describe('Wilson’s interval', () => {
  it('is that of the textbook', () => {
    // R: prop.test(15, 148, correct = FALSE), and 0 of 20
    const some = wilson(15 / 148, 148);
    expect(some.lo).toBeCloseTo(0.0624, 4);
    expect(some.hi).toBeCloseTo(0.1605, 4);
    const none = wilson(0, 20);
    expect(none.lo).toBe(0);
    expect(none.hi).toBeCloseTo(0.1611, 4);
    expect(wilson(1, 20).hi).toBe(1);
  });

  it('holds the share, narrows with more draws, and mirrors', () => {
    const next = random(11);
    for (let k = 0; k < 500; k++) {
      const [share, n] = [next(), 1 + 1000 * next()];
      const { lo, hi } = wilson(share, n);
      expect(lo).toBeLessThanOrEqual(share);
      expect(hi).toBeGreaterThanOrEqual(share);
      const more = wilson(share, 4 * n);
      expect(more.hi! - more.lo!).toBeLessThan(hi! - lo!);
      expect(wilson(1 - share, n).hi).toBeCloseTo(1 - lo!, 10);
    }
  });

  it('is not there where nobody knows what the visits are worth', () => {
    for (const effective of [null, 0, NaN]) expect(isBounded(wilson(0.2, effective))).toBe(false);
  });
});

describe('estimates', () => {
  it('change their unit with their interval', () => {
    expect(times({ value: 2, lo: 1, hi: 4 }, 10)).toEqual({ value: 20, lo: 10, hi: 40 });
    expect(times({ value: 2, lo: null, hi: null }, 10)).toEqual({ value: 20, lo: null, hi: null });
  });

  it('reach zero only where an interval says so', () => {
    expect(reachesZero({ value: 0.1, lo: 0, hi: 0.3 })).toBe(true);
    expect(reachesZero({ value: 0.1, lo: 0.01, hi: 0.3 })).toBe(false);
    expect(reachesZero({ value: 0, lo: null, hi: null })).toBe(false);
  });
});
