/** Fields and the chart that reports on frequencies share. */
import { SHARE, MHZ } from '../../../views/chart/quantity.ts';
import { shortPlatform } from '../phrases.ts';
import type { ChartData, Field, Schemas } from '../report.ts';
import type { Line } from '../../../views/chart/LineChart.tsx';

export const FREQUENCY_FIELDS: readonly Field[] = [
  {
    name: 'performance',
    label: 'Performance to keep',
    help: 'Share of the performance at the base frequency, 0 to 1.',
    initial: '0.9',
  },
  {
    name: 'base_mhz',
    advanced: true,
    label: 'Base frequency (MHz)',
    help: 'Slowdowns are relative to it. Empty: the mean of the observed frequencies; of timed runs the highest.',
    initial: '',
  },
  {
    name: 'mhz',
    advanced: true,
    label: 'Frequencies (MHz)',
    help: 'Separated by commas. Empty: from the base to half of it.',
    initial: '',
  },
  {
    name: 'memory_mhz',
    advanced: true,
    label: 'Memory now (MHz)',
    help: 'Frequency of the memory during the measurement.',
    initial: '',
  },
  {
    name: 'memory_target_mhz',
    advanced: true,
    label: 'Memory then (MHz)',
    help: 'Also predict for this frequency of the memory.',
    initial: '',
  },
];

const APPLICATIONS_DRAWN = 3;

interface Slowed {
  application: string;
  platform?: string;
  slowdowns: readonly Schemas['Slowdown'][];
}

/** Slowdowns of the heaviest applications, beside a clock that all time would scale with. */
export function slowdownChart(rows: readonly Slowed[]): ChartData | null {
  const drawn = rows.filter((r) => r.slowdowns.length > 0).slice(0, APPLICATIONS_DRAWN);
  if (drawn.length === 0) return null;
  const lines: Line[] = drawn.map((r) => ({
    name: r.platform === undefined ? r.application : `${r.application}, ${shortPlatform(r.platform)}`,
    as: 'line',
    points: r.slowdowns.flatMap((s) => (s.slowdown ? [{ x: s.mhz, ...s.slowdown }] : [])),
  }));
  lines.push({
    name: 'if all time scaled with the clock',
    as: 'naive',
    points: drawn[0].slowdowns.map((s) => ({ x: s.mhz, value: s.naive, lo: null, hi: null })),
  });
  return {
    kind: 'lines',
    label: 'Slowdown by frequency',
    over: 'core frequency, MHz',
    of: 'slowdown',
    xUnit: MHZ,
    unit: SHARE,
    lines,
  };
}
