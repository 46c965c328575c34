/** Axes of charts over time. */
import { localMinute } from '../../selection/time.ts';
import type { Unit } from '../../views/chart/quantity.ts';

const TICKS = 5;

/** The unit and the ticks of an axis over these starts of steps (RFC 3339). */
export function hourly(times: readonly string[]): { xUnit: Unit; xTicks: number[] } {
  const all = [...new Set(times)].map((time) => Date.parse(time)).sort((a, b) => a - b);
  const every = Math.max(1, Math.ceil(all.length / TICKS));
  return {
    xUnit: { digits: (v) => localMinute(new Date(v).toISOString()).slice(5), suffix: '' },
    xTicks: all.filter((_, k) => k % every === 0),
  };
}
