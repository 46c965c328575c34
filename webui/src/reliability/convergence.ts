/** How a profile comes nearer to the fleet's with more visits: distance = C / √samples. */
import type { ReliabilityAnswer } from '../api/types.ts';

export type Fit = NonNullable<ReliabilityAnswer['fit']>;

/** Distances between profiles that people ask for: shares that are off by so much in all. */
export const PRECISIONS = [0.2, 0.1, 0.05, 0.02] as const;

/** The distance to be expected of this many visits that have the selection. */
export function distanceOf(fit: Fit, visits: number): number {
  return fit.constant.value / Math.sqrt(visits * fit.samples_per_visit);
}

/** Visits with the selection that bring a profile as near as this, as many samples each as the present ones. */
export function visitsFor(fit: Fit, distance: number): number {
  return Math.ceil((fit.constant.value / distance) ** 2 / fit.samples_per_visit);
}

/**
 * Visits of the campaign still to land for this distance; ≤ 0 where there are enough.
 *
 * Of 1000 visits 50 may have had the selection, and so will 1 of 20 to come: 10 more that have it are 200 visits.
 */
export function moreVisits(fit: Fit, distance: number, landed: number): number {
  return Math.ceil(((visitsFor(fit, distance) - fit.visits) * Math.max(landed, fit.visits)) / fit.visits);
}

/** The fit's points by visits instead of samples, fewest first. */
export function pointsOf(fit: Fit): { visits: number; distance: number }[] {
  return fit.points
    .map(({ samples, distance }) => ({ visits: samples / fit.samples_per_visit, distance }))
    .sort((a, b) => a.visits - b.visits);
}

/** 1, 2, 5, 10, … that lie in a range, for an axis of logarithms. */
export function ticks(lo: number, hi: number): number[] {
  const found: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(lo)); decade <= hi; decade *= 10)
    for (const step of [1, 2, 5]) {
      const tick = Number((decade * step).toPrecision(1));
      if (tick >= lo && tick <= hi) found.push(tick);
    }
  return found;
}
