/** Reports on what another clock frequency costs. */
import { count } from '../../../selection/numbers.ts';
import {
  figure,
  FINE_RATIO,
  MHZ,
  NUMBER,
  RATIO,
  SECONDS,
  SHARE,
  write,
} from '../../../views/chart/quantity.ts';
import type { Line } from '../../../views/chart/LineChart.tsx';
import { countColumn, figureColumn, nameColumn, numberColumn, textColumn } from '../columns.tsx';
import { shortPlatform } from '../phrases.ts';
import type { ChartData, Field, Report, Schemas } from '../report.ts';

const FREQUENCY_FIELDS: readonly Field[] = [
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
function slowdownChart(rows: readonly Slowed[]): ChartData | null {
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

const FREQUENCY: Report<Schemas['FrequencyAnswer']> = {
  kind: 'frequency',
  group: 'Frequency',
  title: 'Frequency by misses',
  question: 'How much slower are applications at a lower frequency?',
  needs:
    'llc-misses sampled beside cpu, and the memory latency of each platform: fleetprof calibrate memory.',
  explain:
    'The time of work is A/f + B: instructions on the chip take fewer seconds at a higher frequency f, misses that wait for memory do not. B is the misses of the last cache times the memory’s latency, A the rest. The more an application waits for memory, the less a lower frequency costs.',
  section: 'Frequency',
  route: '/api/v1/analysis/frequency',
  fields: [
    {
      name: 'latency_ns',
      label: 'Assumed latency (ns)',
      help: 'Of a miss, on platforms without a measured one. Empty: leave these platforms out.',
      initial: '90',
    },
    ...FREQUENCY_FIELDS,
  ],
  sentence({ rows, performance, base_mhz }) {
    const row = rows.find((r) => r.lowest_mhz) ?? rows[0];
    if (!row) return 'No application has a prediction.';
    if (!row.lowest_mhz)
      return `${row.application}: ${row.because?.detail ?? 'no frequency keeps the performance.'}`;
    return `${row.application} keeps ${write(performance, SHARE)} of its performance at ${count(base_mhz ?? 0)} MHz down to ${figure(row.lowest_mhz, MHZ)}; ${figure(row.off_chip, SHARE)} of its time waits for memory.`;
  },
  naive: ({ performance, base_mhz }) =>
    base_mhz === null
      ? null
      : `If all time scaled with the clock (1/f), it would need ${write(performance * base_mhz, MHZ)}.`,
  chart: ({ rows }) => slowdownChart(rows),
  tables: ({ rows, rows_total }, links) => [
    {
      label: 'By application',
      rows,
      total: rows_total,
      keyOf: (r: Schemas['FrequencyRow']) => r.application,
      columns: [
        nameColumn<Schemas['FrequencyRow']>(
          'application',
          (r) => r.application,
          (r) => links.application(r.application),
        ),
        figureColumn<Schemas['FrequencyRow']>('waits for memory', (r) => r.off_chip, SHARE),
        figureColumn<Schemas['FrequencyRow']>('lowest frequency', (r) => r.lowest_mhz, MHZ),
        numberColumn<Schemas['FrequencyRow']>('core-seconds', (r) => r.cpu_seconds, NUMBER),
        countColumn<Schemas['FrequencyRow']>('profiles', (r) => r.visits),
        textColumn<Schemas['FrequencyRow']>('note', (r) => r.because?.detail ?? ''),
      ],
    },
  ],
  missing: ({ because }, links) =>
    because
      ? [
          {
            text: 'Where machines run at several frequencies, no misses are needed:',
            link: {
              href: links.report('frequency-fit'),
              text: 'slowdowns fitted to machines at several frequencies',
            },
          },
        ]
      : [],
};

const FREQUENCY_FIT: Report<Schemas['FrequencyFitAnswer']> = {
  kind: 'frequency-fit',
  group: 'Frequency',
  title: 'Frequency by a fit',
  question: 'How much slower are applications at a lower frequency, by machines that run at several?',
  needs: 'Counted control groups (--cgroups) on machines at different frequencies.',
  explain:
    'Seconds per instruction are fitted as A/f + B to each application on each platform, over machines that run at different frequencies. The fit has terms for how busy a machine is. It needs neither misses nor latencies.',
  section: 'Frequency',
  route: '/api/v1/analysis/frequency-fit',
  fields: FREQUENCY_FIELDS,
  sentence({ rows, performance }) {
    const row = rows.find((r) => r.lowest_mhz) ?? rows[0];
    if (!row) return 'No application has a fit.';
    if (!row.lowest_mhz)
      return `${row.application}: ${row.because?.detail ?? 'no frequency keeps the performance.'}`;
    return `${row.application} on ${shortPlatform(row.platform)} keeps ${write(performance, SHARE)} of its performance at ${count(row.base_mhz ?? 0)} MHz down to ${figure(row.lowest_mhz, MHZ)}; ${figure(row.off_chip, SHARE)} of its time does not scale with the clock.`;
  },
  naive({ rows, performance }) {
    const row = rows.find((r) => r.lowest_mhz);
    return row?.base_mhz
      ? `If all time scaled with the clock (1/f), it would need ${write(performance * row.base_mhz, MHZ)}.`
      : null;
  },
  chart({ rows }) {
    const fitted = rows.filter((r) => r.because === null);
    return slowdownChart(fitted.filter((r) => r.platform === fitted[0].platform));
  },
  tables: ({ rows, rows_total }, links) => [
    {
      label: 'By application and platform',
      rows,
      total: rows_total,
      keyOf: (r: Schemas['FrequencyFitRow']) => `${r.application}\n${r.platform}`,
      columns: [
        nameColumn<Schemas['FrequencyFitRow']>(
          'application',
          (r) => r.application,
          (r) => links.application(r.application),
        ),
        nameColumn<Schemas['FrequencyFitRow']>(
          'platform',
          (r) => r.platform,
          (r) => links.value('platform', r.platform),
        ),
        figureColumn<Schemas['FrequencyFitRow']>(
          'off the clock',
          (r) => r.off_chip,
          SHARE,
          'Share of the time that does not scale with the clock.',
        ),
        figureColumn<Schemas['FrequencyFitRow']>('CPI on the chip', (r) => r.on_chip_cpi, RATIO),
        figureColumn<Schemas['FrequencyFitRow']>('lowest frequency', (r) => r.lowest_mhz, MHZ),
        numberColumn<Schemas['FrequencyFitRow']>(
          'load correlation',
          (r) => r.load_correlation,
          RATIO,
          'Near 1 or −1 the effects of frequency and load cannot be separated.',
        ),
        countColumn<Schemas['FrequencyFitRow']>('profiles', (r) => r.visits),
        countColumn<Schemas['FrequencyFitRow']>('machines', (r) => r.machines),
        textColumn<Schemas['FrequencyFitRow']>(
          'note',
          (r) => r.because?.detail ?? (r.clipped ? 'a term below 0 was set to 0' : ''),
        ),
      ],
    },
  ],
};

const FREQUENCY_TIMES: Report<Schemas['FrequencyTimesAnswer']> = {
  kind: 'frequency-times',
  group: 'Frequency',
  title: 'Frequency by your times',
  question: 'How much slower is a run at a lower frequency, by times that you measured?',
  needs: 'Times of the same work at two or more frequencies. It reads no profiles.',
  explain:
    'T(f) = A/f + B is fitted to your times. Each frequency is also predicted from the others and compared with its measurement, beside the simple rule that all time scales with the clock.',
  section: 'Frequency',
  route: '/api/v1/analysis/frequency-times',
  readsFleet: false,
  fields: [
    {
      name: 'runs',
      label: 'Runs',
      help: 'MHz and seconds of each run, and the memory’s MHz if it varies: 1200:18.3,1800:12.9. The first values are an example.',
      initial: '1200:18.3,1800:12.9,2400:10.1',
      required: true,
      wide: true,
    },
    ...FREQUENCY_FIELDS,
  ],
  sentence({ lowest_mhz, lowest_because, performance, base_mhz, off_chip }) {
    if (!lowest_mhz) return lowest_because?.detail ?? 'No frequency keeps the performance.';
    return `The run keeps ${write(performance, SHARE)} of its performance at ${count(base_mhz ?? 0)} MHz down to ${figure(lowest_mhz, MHZ)}; ${figure(off_chip, SHARE)} of its time does not scale with the clock.`;
  },
  naive: ({ held_out_error, naive_error, performance, base_mhz }) =>
    base_mhz === null
      ? null
      : `If all time scaled with the clock (1/f), it would need ${write(performance * base_mhz, MHZ)}.${held_out_error === null || naive_error === null ? '' : ` Predicted from the other frequencies, A/f + B is ${write(held_out_error, SHARE)} off on average; 1/f is ${write(naive_error, SHARE)} off.`}`,
  chart: ({ slowdowns }) => slowdownChart([{ application: 'A/f + B', slowdowns }]),
  tables: ({ rows, slowdowns }) => [
    {
      label: 'Predictions',
      rows: slowdowns,
      keyOf: (r: Schemas['TimedSlowdown']) => String(r.mhz),
      columns: [
        numberColumn<Schemas['TimedSlowdown']>('frequency', (r) => r.mhz, MHZ),
        figureColumn<Schemas['TimedSlowdown']>('slowdown', (r) => r.slowdown, SHARE),
        numberColumn<Schemas['TimedSlowdown']>('by 1/f', (r) => r.naive, SHARE),
        figureColumn<Schemas['TimedSlowdown']>('one more run takes', (r) => r.seconds, SECONDS),
      ],
    },
    {
      label: 'Your times',
      rows,
      keyOf: (r: Schemas['TimedSetting']) => `${r.mhz} ${r.memory_mhz}`,
      columns: [
        numberColumn<Schemas['TimedSetting']>('frequency', (r) => r.mhz, MHZ),
        numberColumn<Schemas['TimedSetting']>('measured', (r) => r.seconds, SECONDS),
        numberColumn<Schemas['TimedSetting']>('fitted', (r) => r.fitted, SECONDS),
        numberColumn<Schemas['TimedSetting']>('error from the others', (r) => r.held_out, SHARE),
        numberColumn<Schemas['TimedSetting']>('error of 1/f', (r) => r.naive, SHARE),
        countColumn<Schemas['TimedSetting']>('runs', (r) => r.runs),
      ],
    },
  ],
  assumptions: ({ runs, on_chip_cycles, fixed_seconds, spread, clipped }) => [
    `${count(runs)} runs.`,
    ...(on_chip_cycles ? [`A: ${figure(on_chip_cycles, NUMBER)} cycles.`] : []),
    ...(fixed_seconds ? [`B: ${figure(fixed_seconds, SECONDS)}.`] : []),
    ...(spread === null
      ? []
      : [
          `Times scatter by ${write(spread, { ...SHARE, digits: (v) => FINE_RATIO.digits(100 * v) })} around the fit.`,
        ]),
    ...(clipped ? ['A term below 0 by chance was set to 0.'] : []),
  ],
};

export const FREQUENCY_REPORTS = [FREQUENCY, FREQUENCY_FIT, FREQUENCY_TIMES];
