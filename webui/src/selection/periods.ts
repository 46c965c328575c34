/** Ranges before and after a range. */
import { isLive, rfc3339, secondsBack } from './time.ts';

export interface Range {
  from: string;
  to: string;
}

const DAY = 86_400;
export const STEPS_BACK = {
  'previous period': null,
  'a day earlier': DAY,
  'a week earlier': 7 * DAY,
} as const;
export type StepBack = keyof typeof STEPS_BACK;

/**
 * A range of the same length that lies earlier, or null if these times cannot be parsed.
 *
 * For a relative range the result is relative, too.
 */
export function earlier(range: Range, step: StepBack): Range | null {
  const back = secondsBack(range.from);
  const end = range.to === 'now' ? 0 : secondsBack(range.to);
  if (back !== null && end !== null && back > end) {
    const by = STEPS_BACK[step] ?? back - end;
    return { from: ago(back + by), to: ago(end + by) };
  }
  const [from, to] = [Date.parse(range.from), Date.parse(range.to)];
  if (!(from < to)) return null;
  const by = 1000 * (STEPS_BACK[step] ?? 0) || to - from;
  return { from: rfc3339(from - by), to: rfc3339(to - by) };
}

/** The range of the same length that follows, at most up to now; null if the range ends now. */
export function later(range: Range, asOf: number): Range | null {
  if (isLive(range)) return null;
  const back = secondsBack(range.from);
  const end = secondsBack(range.to);
  if (back !== null && end !== null && back > end) {
    const by = Math.min(end, back - end);
    return { from: ago(back - by), to: end === by ? 'now' : ago(end - by) };
  }
  const [from, to] = [Date.parse(range.from), Date.parse(range.to)];
  if (!(from < to)) return null;
  const by = Math.min(to - from, asOf - to);
  return by <= 0 ? null : { from: rfc3339(from + by), to: rfc3339(to + by) };
}

/** `now-2h`, in the largest unit without a fraction. */
function ago(seconds: number): string {
  const units: [string, number][] = [
    ['d', DAY],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ];
  const [unit, per] = units.find(([, size]) => seconds % size === 0)!;
  return `now-${seconds / per}${unit}`;
}
