import { describe, expect, it } from 'vitest';
import {
  distanceOf,
  moreVisits,
  pointsOf,
  ticks,
  visitsFor,
  type Fit,
} from '../../src/reliability/convergence.ts';

const fit: Fit = {
  constant: { value: 50, lo: 44, hi: 57 },
  exponent: -0.49,
  samples_per_visit: 100,
  visits: 50,
  points: [
    { samples: 1000, distance: 1.6 },
    { samples: 500, distance: 2.2 },
  ],
};

describe('convergence', () => {
  it('needs four times the visits for half the distance', () => {
    expect(visitsFor(fit, 0.1)).toBe(2500);
    expect(visitsFor(fit, 0.05)).toBe(10_000);
    expect(distanceOf(fit, 2500)).toBeCloseTo(0.1, 10);
  });

  it('asks for visits of the campaign, of which few have the selection', () => {
    expect(moreVisits(fit, 0.1, 50)).toBe(2450);
    expect(moreVisits(fit, 0.1, 1000)).toBe(49_000);
    expect(moreVisits(fit, distanceOf(fit, 49.9), 1000)).toBeLessThanOrEqual(0);
  });

  it('counts in visits', () => {
    expect(pointsOf(fit)).toEqual([
      { visits: 5, distance: 2.2 },
      { visits: 10, distance: 1.6 },
    ]);
  });

  it('has round numbers on its axes', () => {
    expect(ticks(3, 120)).toEqual([5, 10, 20, 50, 100]);
    expect(ticks(0.08, 0.6)).toEqual([0.1, 0.2, 0.5]);
  });
});
