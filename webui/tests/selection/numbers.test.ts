import { describe, expect, it } from 'vitest';
import { count, coverage, duration, percent, quantity } from '../../src/selection/numbers.ts';

describe('numbers', () => {
  it('never writes a share that is there as zero, or one that is not whole as whole', () => {
    expect(percent(0)).toBe('0.00 %');
    expect(percent(0.00001)).toBe('< 0.01 %');
    expect(percent(0.1234)).toBe('12.34 %');
    expect(coverage(0.99999)).toBe('99.9 %');
    expect(coverage(1)).toBe('100 %');
  });

  it('keeps three digits', () => {
    expect([0, 0.0123, 0.84, 0.9999, 12.44, 192, 18_360, 1e6].map(duration)).toEqual([
      '0 s',
      '12.3 ms',
      '840 ms',
      '1.00 s',
      '12.4 s',
      '3.20 min',
      '5.10 core-h',
      '278 core-h',
    ]);
    expect([0, 834, 12_400, 3.1e6].map(quantity)).toEqual(['0', '834', '12.4 k', '3.10 M']);
    expect(count(1234567)).toBe('1,234,567');
  });
});
