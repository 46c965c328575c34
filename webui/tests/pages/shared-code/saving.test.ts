import { describe, expect, it } from 'vitest';
import { savedBy, type SharedRow } from '../../../src/pages/shared-code/saving.ts';

const row = (cores: number | null, money: number | null): SharedRow => {
  const interval = (value: number | null) => (value === null ? null : { value, lo: 0, hi: 2 * value });
  return {
    self_share: 0.01,
    cost: {
      cores: interval(cores),
      core_hours: interval(cores),
      money: interval(money),
      money_a_year: interval(money),
    },
  } as SharedRow;
};

describe('a saving', () => {
  it('is that part of the sum', () => {
    expect(savedBy([row(100, 3), row(60, 1)], 25)).toEqual({
      cores: 40,
      coreHours: 40,
      money: 1,
      moneyAYear: 1,
      share: 0.005,
    });
  });

  it('has no money without a price, and no cores without estimates', () => {
    expect(savedBy([row(100, null)], 50)).toMatchObject({ cores: 50, money: null });
    expect(savedBy([row(100, 1), row(null, null)], 50).cores).toBeNull();
    expect(savedBy([], 50).cores).toBeNull();
  });
});
