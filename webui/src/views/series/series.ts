/** Rows over time as the chart draws them, from the columns of `/api/v1/series`. */
import type { components } from '../../api/schema.gen.ts';
import { times, type Estimate } from '../../estimates/interval.ts';
import type { Measure } from '../../estimates/measure.ts';

export type SeriesAnswer = components['schemas']['SeriesAnswer'];
type AnswerLine = SeriesAnswer['lines'][number];

export interface SeriesLine {
  /** Unique in the chart. */
  id: string;
  name: string;
  role: AnswerLine['role'];
  /** The row's key as in /table; empty for the whole and the remainder. */
  key: Record<string, string>;
  functionId: number | null;
  /** One per step; null where nothing is known, which is a gap in the chart. */
  points: (Estimate | null)[];
}

/** Why the values of a step describe only a part of it. */
export type Doubt = 'partial' | 'too few profiles';

export interface Series {
  /** The unit of all points. */
  measure: Measure;
  stepSeconds: number;
  /** Beginning and end of each step in seconds since 1970. */
  starts: number[];
  ends: number[];
  doubts: (Doubt | null)[];
  lines: SeriesLine[];
}

/** Converts the answer's columns to a unit. */
export interface SeriesGround {
  /** Machines that all shares refer to; 0: not known (estimates/measure.ts, groundOf). */
  population: number;
  /** Price of one core-hour. */
  price: number | null;
}

/** The units that this answer has. */
export function seriesMeasures({ lines, totals }: SeriesAnswer, ground: SeriesGround): Measure[] {
  const timed = lines.some((line) => line.points.core_seconds !== null);
  const random = totals.design === 'random';
  const possible: Record<Measure, boolean> = {
    share: true,
    samples: false, // steps have units, not samples
    'core-seconds': timed,
    cores: timed && random,
    machines: random && ground.population > 0,
    money: timed && ground.price !== null,
  };
  return (Object.keys(possible) as Measure[]).filter((measure) => possible[measure]);
}

/** `measure` is replaced by `cores`, or by `share`, if the answer does not have it. */
export function seriesOf(answer: SeriesAnswer, measure: Measure, ground: SeriesGround): Series {
  const { steps } = answer;
  const offered = seriesMeasures(answer, ground);
  const shown = offered.includes(measure) ? measure : offered.includes('cores') ? 'cores' : 'share';
  return {
    measure: shown,
    stepSeconds: answer.step_seconds,
    starts: steps.start.map(seconds),
    ends: steps.end.map(seconds),
    doubts: steps.start.map((_, k) =>
      steps.too_few_ingested[k] ? 'too few profiles' : steps.partial[k] ? 'partial' : null,
    ),
    lines: answer.lines.map((line) => ({
      id: idOf(line),
      name: nameOf(line),
      role: line.role,
      key: line.key,
      functionId: line.function_id,
      points: steps.start.map((_, k) => pointOf(line, k, shown, steps.estimated_seconds[k], ground)),
    })),
  };
}

function pointOf(
  { points }: AnswerLine,
  k: number,
  measure: Measure,
  estimatedSeconds: number,
  ground: SeriesGround,
): Estimate | null {
  const share = estimateAt(points.share, k);
  const coreSeconds = points.core_seconds && estimateAt(points.core_seconds, k);
  const scaled = (estimate: Estimate | null, factor: number): Estimate | null =>
    estimate === null ? null : times(estimate, factor);
  switch (measure) {
    case 'machines':
      return scaled(share, ground.population);
    case 'core-seconds':
      return coreSeconds;
    case 'cores':
      return estimatedSeconds > 0 ? scaled(coreSeconds, 1 / estimatedSeconds) : null;
    case 'money':
      return scaled(coreSeconds, (ground.price ?? 0) / 3600);
    default:
      return share;
  }
}

function estimateAt(columns: AnswerLine['points']['share'], k: number): Estimate | null {
  const value = columns.value[k];
  return value === null ? null : { value, lo: columns.lo[k], hi: columns.hi[k] };
}

function seconds(instant: string): number {
  return Date.parse(instant) / 1000;
}

function idOf({ role, key }: AnswerLine): string {
  return role === 'row' ? JSON.stringify(key) : role;
}

function nameOf({ role, key }: AnswerLine): string {
  if (role !== 'row') return role === 'whole' ? 'all' : 'the rest';
  return Object.values(key)
    .map((value) => value || 'none')
    .join(' · ');
}

/** The range from the beginning of a step to the end of another, in either order of the two. */
export function rangeOf(series: Series, one: number, other: number): { from: number; to: number } {
  const [first, last] = one <= other ? [one, other] : [other, one];
  return { from: series.starts[first], to: series.ends[last] };
}

/** The step that contains a moment, in seconds since 1970, or the nearest one. */
export function stepAt({ starts }: Series, moment: number): number {
  let at = 0;
  while (at + 1 < starts.length && starts[at + 1] <= moment) at += 1;
  return at;
}

/** The least value of the vertical axis's end: all values, and as much of the intervals as leaves the values legible. */
export function ceilingOf({ lines }: Series): number {
  const known = lines.flatMap((line) => line.points.filter((point) => point !== null));
  const value = Math.max(0, ...known.map((point) => point.value));
  const bound = Math.max(0, ...known.map((point) => point.hi ?? point.value));
  // Without any observation, the bounds are all there is to show.
  const most = value > 0 ? Math.min(bound, LEGIBLE * value) : bound;
  return most > 0 ? 1.05 * most : 1;
}

/** Intervals longer than this many times the highest value end outside of the chart. */
const LEGIBLE = 2.5;
