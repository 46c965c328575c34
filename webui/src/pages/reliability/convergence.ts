/** Convergence of a profile to the fleet's with more visits: 2 for few samples, C / √samples for many. */
import type { ReliabilityAnswer } from '../../api/types.ts';

export type Fit = NonNullable<ReliabilityAnswer['fit']>;

/** Typical distances between profiles: the sum of the errors of all shares. */
export const PRECISIONS = [0.2, 0.1, 0.05, 0.02] as const;

/** Distance of profiles that have nothing in common. */
const FARTHEST = 2;

/** The expected distance with this many visits that contain the selection. */
export function distanceOf(fit: Fit, visits: number): number {
  if (!(fit.scale > 0)) return 0;
  const samples = visits * fit.samples_per_visit;
  return FARTHEST * (1 + (samples / fit.scale) ** (fit.bend / 2)) ** (-1 / fit.bend);
}

/** Visits with the selection that bring a profile to this distance, with the present samples per visit. */
export function visitsFor(fit: Fit, distance: number): number {
  if (!(fit.scale > 0) || distance >= FARTHEST) return 0;
  const samples = fit.scale * ((FARTHEST / distance) ** fit.bend - 1) ** (2 / fit.bend);
  return Math.ceil(samples / fit.samples_per_visit);
}

/**
 * Visits of the campaign still to be ingested for this distance; ≤ 0 if there are enough.
 *
 * If 50 of 1000 visits had the selection, 1 of 20 future visits will have it: 10 more with it are 200 visits.
 */
export function moreVisits(fit: Fit, distance: number, ingested: number): number {
  return Math.ceil(((visitsFor(fit, distance) - fit.visits) * Math.max(ingested, fit.visits)) / fit.visits);
}

/** The fit's points by visits instead of samples, fewest first. */
export function pointsOf(fit: Fit): { visits: number; distance: number }[] {
  return fit.points
    .map(({ samples, distance }) => ({ visits: samples / fit.samples_per_visit, distance }))
    .sort((a, b) => a.visits - b.visits);
}

/** The curve between two numbers of visits, as this many straight segments. */
export function curveOf(
  fit: Fit,
  from: number,
  to: number,
  pieces = 48,
): { visits: number; distance: number }[] {
  return Array.from({ length: pieces + 1 }, (_, i) => {
    const visits = from * (to / from) ** (i / pieces);
    return { visits, distance: distanceOf(fit, visits) };
  });
}

/** 1, 2, 5, 10, … within a range, for a logarithmic axis. */
export function ticks(lo: number, hi: number): number[] {
  const found: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(lo)); decade <= hi; decade *= 10)
    for (const step of [1, 2, 5]) {
      const tick = Number((decade * step).toPrecision(1));
      if (tick >= lo && tick <= hi) found.push(tick);
    }
  return found;
}
