import { describe, expect, it } from 'vitest';
import { placeMarks } from '../../../src/views/series/marks.ts';
import {
  ceilingOf,
  rangeOf,
  seriesMeasures,
  seriesOf,
  stepAt,
  type SeriesAnswer,
} from '../../../src/views/series/series.ts';
import { runsOf } from '../../../src/views/series/Sparkline.tsx';
import { stepSummary, summaryOf, tickLabels } from '../../../src/views/series/words.ts';
import { totals } from '../../estimates/totals.ts';

const GROUND = { population: 0, price: null };
const T0 = Date.parse('2026-11-20T00:00:00Z') / 1000;

/** Four hours: a whole one, one without profiles, one with too few, and the partial last. */
function answer(): SeriesAnswer {
  const columns = (...value: (number | null)[]) => ({
    value,
    lo: value.map((v) => (v === null ? null : v / 2)),
    hi: value.map((v) => (v === null ? null : v * 2)),
  });
  return {
    selection: {} as SeriesAnswer['selection'],
    totals: totals({ design: 'random' }),
    by: ['application'],
    step_seconds: 3600,
    seconds_per_unit: 1e-9,
    steps: {
      start: ['2026-11-20T00:00:00Z', '2026-11-20T01:00:00Z', '2026-11-20T02:00:00Z', '2026-11-20T03:00:00Z'],
      end: ['2026-11-20T01:00:00Z', '2026-11-20T02:00:00Z', '2026-11-20T03:00:00Z', '2026-11-20T04:00:00Z'],
      covered_seconds: [3600, 3600, 3600, 1800],
      estimated_seconds: [3600, 3600, 0, 1800],
      partial: [false, false, false, true],
      too_few_ingested: [false, false, true, false],
      visits_drawn: [10, 0, 10, 5],
      visits_waiting: [0, 0, 9, 0],
    },
    lines: [
      {
        role: 'row',
        key: { application: 'checkout', version: '' },
        function_id: null,
        points: {
          units: [10, 0, 1, 5],
          share: columns(0.25, null, null, 0.5),
          core_seconds: columns(7200, null, null, 9000),
          low_confidence: [],
          visits: [4, 0, 1, 2],
        },
      },
    ],
    lines_total: 1,
  };
}

describe('a series of the answer', () => {
  it('has cores of the estimated seconds of each step, and gaps', () => {
    const series = seriesOf(answer(), 'cores', GROUND);
    expect(series.measure).toBe('cores');
    expect(series.starts).toEqual([T0, T0 + 3600, T0 + 7200, T0 + 10_800]);
    expect(series.lines[0].points).toEqual([
      { value: 2, lo: 1, hi: 4 },
      null,
      null,
      { value: 5, lo: 2.5, hi: 10 },
    ]);
    expect(series.doubts).toEqual([null, null, 'too few profiles', 'partial']);
    expect(series.lines[0].name).toBe('checkout · none');
  });

  it('converts to shares, machines and money', () => {
    const values = (measure: 'share' | 'machines' | 'money') =>
      seriesOf(answer(), measure, { population: 1000, price: 0.5 }).lines[0].points.map(
        (p) => p?.value ?? null,
      );
    expect(values('share')).toEqual([0.25, null, null, 0.5]);
    expect(values('machines')).toEqual([250, null, null, 500]);
    expect(values('money')).toEqual([1, null, null, 1.25]);
  });

  it('replaces a unit that the answer does not have', () => {
    expect(seriesOf(answer(), 'money', GROUND).measure).toBe('cores');
    const untimed = answer();
    untimed.lines[0].points.core_seconds = null;
    expect(seriesMeasures(untimed, GROUND)).toEqual(['share']);
    expect(seriesOf(untimed, 'core-seconds', GROUND).measure).toBe('share');
  });

  it('finds steps and ranges in both directions', () => {
    const series = seriesOf(answer(), 'share', GROUND);
    expect([T0 - 5, T0, T0 + 3599, T0 + 3600, T0 + 99_999].map((at) => stepAt(series, at))).toEqual([
      0, 0, 0, 1, 3,
    ]);
    expect(rangeOf(series, 2, 1)).toEqual({ from: T0 + 3600, to: T0 + 10_800 });
  });

  it('keeps values legible beside long intervals', () => {
    const series = seriesOf(answer(), 'cores', GROUND);
    expect(ceilingOf(series)).toBeCloseTo(1.05 * 10);
    series.lines[0].points[3]!.hi = 1000;
    expect(ceilingOf(series)).toBeCloseTo(1.05 * 2.5 * 5);
    expect(ceilingOf({ ...series, lines: [] })).toBe(1);
  });

  it('is summarised in words', () => {
    const series = seriesOf(answer(), 'cores', GROUND);
    expect(summaryOf(series)).toMatch(
      /^checkout · none over time, .* in steps of 1 h\. .*highest 5\.00 at .*, last 5\.00 at/,
    );
    expect(stepSummary(series, 1)).toMatch(/checkout · none no value$/);
    expect(stepSummary(series, 2)).toContain('too few profiles of this step have been processed');
    expect(stepSummary(series, 3)).toContain('5.00 cores, 95 % interval 2.50 to 10.0');
  });
});

describe('labels of the time axis', () => {
  it('name the date once a day', () => {
    const labels = tickLabels(
      [0, 6, 12, 18, 24, 30].map((hour) => T0 + 3600 * hour),
      21_600,
    );
    expect(labels.filter((label) => label.includes('\n')).length).toBeGreaterThanOrEqual(2);
    expect(labels.some((label) => !label.includes('\n'))).toBe(true);
    expect(tickLabels([T0, T0 + 86_400], 86_400).every((label) => /^\d+ Nov$/.test(label))).toBe(true);
  });
});

describe('marks', () => {
  const mark = (id: string, at: number) => ({ id, at, text: 'r10389', title: '' });

  it('do not overlap, and lie within the plot', () => {
    const placed = placeMarks(
      [mark('c', 20), mark('a', 0), mark('b', 10), mark('out', 900), mark('end', 395)],
      (at) => at,
      400,
      2,
    );
    expect(placed.map(({ id, row }) => [id, row])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', null],
      ['end', null],
    ]);
  });
});

describe('a sparkline', () => {
  it('interrupts its line where there is no value', () => {
    const runs = runsOf([0, 2, null, 1], 104, 24);
    expect(runs.map((run) => run.length)).toEqual([2, 1]);
    expect(runs[0][0]).toEqual({ x: 2, y: 22 });
    expect(runs[0][1].y).toBe(2);
    expect(runs[1][0]).toEqual({ x: 102, y: 12 });
  });
});
