/** A series in words: times of steps, the summary for screen readers, labels of the time axis. */
import { spoken } from '../../estimates/words.ts';
import { write } from '../../estimates/measure.ts';
import { length, localMinute } from '../../selection/time.ts';
import type { Doubt, Series, SeriesLine } from './series.ts';

export const DOUBTS: Readonly<Record<Doubt, string>> = {
  partial: 'only a part of this step lies in the range',
  'too few profiles': 'too few profiles of this step have been processed',
};

const DAY = 86_400;

/** `2026-11-21` for whole days, else `2026-11-21 04:00`, in the reader's time zone. */
export function stepName({ starts, stepSeconds }: Series, k: number): string {
  const minute = localMinute(new Date(1000 * starts[k]).toISOString());
  return stepSeconds % DAY === 0 && minute.endsWith('00:00') ? minute.slice(0, 10) : minute;
}

/** One sentence: the lines, the time, and the highest and last value of the first line. */
export function summaryOf(series: Series): string {
  const { starts, lines, stepSeconds } = series;
  if (starts.length === 0 || lines.length === 0) return 'No steps in this range.';
  const span = `${stepName(series, 0)} to ${stepName(series, starts.length - 1)}, in steps of ${length(stepSeconds)}`;
  return `${lines.length === 1 ? lines[0].name : `${lines.length} lines`} over time, ${span}. ${lineSummary(series, lines[0])}`;
}

function lineSummary(series: Series, { name, points }: SeriesLine): string {
  let highest = -1;
  let last = -1;
  points.forEach((point, k) => {
    if (point === null) return;
    last = k;
    if (highest < 0 || point.value > points[highest]!.value) highest = k;
  });
  if (last < 0) return `${name}: no values.`;
  const at = (k: number): string => `${write(series.measure, points[k]!.value)} at ${stepName(series, k)}`;
  return `${name}: highest ${at(highest)}, last ${at(last)}.`;
}

/** All values of a step, for the live region while the cursor moves by keyboard. */
export function stepSummary(series: Series, k: number): string {
  const values = series.lines.map(({ name, points }) => {
    const point = points[k];
    return `${name} ${point === null ? 'no value' : spoken(series.measure, point)}`;
  });
  const doubt = series.doubts[k];
  return `${stepName(series, k)}${doubt === null ? '' : `, ${DOUBTS[doubt]}`}: ${values.join('; ')}`;
}

/** Labels of ticks of the time axis: the time, and the date where a day begins and at the first tick. */
export function tickLabels(ticks: readonly number[], incrementSeconds: number): string[] {
  let day = '';
  return ticks.map((tick) => {
    const at = new Date(1000 * tick);
    const date = at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
    const time = `${String(at.getHours()).padStart(2, '0')}:${String(at.getMinutes()).padStart(2, '0')}`;
    const isNew = date !== day;
    day = date;
    if (incrementSeconds >= DAY) return date;
    return isNew ? `${time}\n${date}` : time;
  });
}
