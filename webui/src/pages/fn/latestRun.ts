import type { SeriesAnswer } from '../../views/series/series.ts';

/** The latest uninterrupted steps in which the whole has samples; null: no step has. */
export function latestRun({ lines, steps }: SeriesAnswer): { from: string; to: string } | null {
  const units = lines.find(({ role }) => role === 'whole')?.points.units ?? [];
  const last = units.findLastIndex((value) => value > 0);
  if (last < 0) return null;
  let first = last;
  while (first > 0 && units[first - 1] > 0) first -= 1;
  return { from: steps.start[first], to: steps.end[last] };
}
