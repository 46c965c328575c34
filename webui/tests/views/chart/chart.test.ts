import { describe, expect, it } from 'vitest';
import { extent, fitted, linear, ticksOf } from '../../../src/views/chart/axes.ts';
import { figure, MHZ, NUMBER, RATIO, SHARE } from '../../../src/views/chart/quantity.ts';

describe('axes', () => {
  it('have round ticks within the range', () => {
    expect(ticksOf(0, 1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticksOf(1100, 2450, 4)).toEqual([1500, 2000]);
    expect(ticksOf(3, 3)).toEqual([3]);
  });

  it('cut values outside to the ends', () => {
    const x = linear(0, 10, 100, 200);
    expect([x(0), x(5), x(10), x(99), x(-1)]).toEqual([100, 150, 200, 200, 100]);
  });

  it('span the finite values', () => {
    expect(extent([3, null, Infinity, -1])).toEqual([-1, 3]);
    expect(extent([])).toEqual([0, 1]);
  });

  it('keep both ends of long names', () => {
    expect(fitted('Intel Xeon Gold 6148', 9)).toBe('Inte…6148');
    expect(fitted('short', 9)).toBe('short');
  });
});

describe('figures', () => {
  it('have their interval in the same unit', () => {
    expect(figure({ value: 0.61, lo: 0.58, hi: 0.64 }, SHARE)).toBe('61.0 % (58.0–64.0)');
    expect(figure({ value: -0.01, lo: -0.05, hi: 0.03 }, SHARE)).toBe('−1.0 % (−5.0 to 3.0)');
  });

  it('say at which end an interval is open', () => {
    expect(figure({ value: 2111, lo: 2063, hi: null }, MHZ)).toBe('2,111 MHz (at least 2,063)');
    expect(figure({ value: 1, lo: null, hi: 1.2 }, RATIO)).toBe('1.00 (at most 1.20)');
    expect(figure({ value: 1, lo: null, hi: null }, RATIO)).toBe('1.00');
    expect(figure(null, RATIO)).toBe('–');
  });

  it('have SI prefixes where they are large', () => {
    expect(figure({ value: 2.357e18, lo: null, hi: null }, NUMBER)).toBe('2.36 E');
    expect(figure({ value: -1.242e16, lo: null, hi: null }, NUMBER)).toBe('−12.4 P');
  });
});
