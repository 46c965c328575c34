import { describe, expect, it } from 'vitest';
import {
  curveOf,
  distanceOf,
  moreVisits,
  pointsOf,
  ticks,
  visitsFor,
  type Fit,
} from '../../../src/pages/reliability/convergence.ts';

const fit: Fit = {
  constant: { value: 50, lo: 44, hi: 57 },
  exponent: -0.49,
  // Where distances are far below 2: C/√N with C = 50.
  scale: 625,
  bend: 20,
  samples_per_visit: 100,
  visits: 50,
  points: [
    { samples: 1000, distance: 1.6 },
    { samples: 500, distance: 2.2 },
  ],
};

describe('convergence', () => {
  it('needs four times the visits for half the distance', () => {
    expect(visitsFor(fit, 0.1)).toBeCloseTo(2500, -1);
    expect(visitsFor(fit, 0.05)).toBeCloseTo(10_000, -1);
    expect(visitsFor(fit, 2)).toBe(0);
    expect(distanceOf(fit, 2500)).toBeCloseTo(0.1, 10);
  });

  it('asks for visits of the campaign, of which few have the selection', () => {
    expect(moreVisits(fit, 0.1, 50)).toBeCloseTo(2450, -1);
    expect(moreVisits(fit, 0.1, 1000)).toBeCloseTo(49_000, -2);
    expect(moreVisits(fit, distanceOf(fit, 49.9), 1000)).toBeLessThanOrEqual(0);
  });

  it('needs more than four times the visits where rows have few samples each', () => {
    const tail: Fit = { ...fit, scale: 900, bend: 0.6 };
    expect(visitsFor(tail, 0.15) / visitsFor(tail, 0.3)).toBeGreaterThan(6);
    expect(distanceOf(tail, visitsFor(tail, 0.15))).toBeCloseTo(0.15, 3);
    expect(distanceOf(tail, 1e-9)).toBeCloseTo(2, 1);
  });

  it('draws the curve from end to end', () => {
    const drawn = curveOf(fit, 2, 200, 10);
    expect(drawn).toHaveLength(11);
    expect(drawn[0]?.visits).toBeCloseTo(2, 9);
    expect(drawn.at(-1)?.visits).toBeCloseTo(200, 9);
    expect(drawn.at(-1)?.distance).toBe(distanceOf(fit, 200));
  });

  it('has no distance where all visits are alike', () => {
    expect(distanceOf({ ...fit, scale: 0 }, 7)).toBe(0);
    expect(visitsFor({ ...fit, scale: 0 }, 0.01)).toBe(0);
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
