/** The number of requests that machines can serve. */
import { words } from '../../../app/copyAs.ts';
import { hourly } from '../steps.ts';
import { count } from '../../../selection/numbers.ts';
import { absolute } from '../../../selection/time.ts';
import { figure, write, NUMBER, RATIO, REQUESTS, SHARE } from '../../../views/chart/quantity.ts';
import { table, type Report, type Schemas, type Used } from '../report.ts';
import { COEFFICIENT, assumedOf, calibration } from './coefficient.ts';

export const CAPACITY: Report<Schemas['CapacityAnswer']> = {
  kind: 'capacity',
  group: 'Capacity',
  title: 'Capacity forecast',
  question: 'How many requests can these machines serve?',
  needs: 'The request rate of each hour, from your monitoring, and an overlap coefficient.',
  explain:
    'The load of the machines is fitted on the request rate and extended to the load at which they are full, by APU and, for comparison, by CPU utilisation, which underestimates the load of cores with two threads and therefore promises too many requests.',
  section: 'Cores with two threads: APU',
  route: '/api/v1/analysis/capacity',
  command: withRates,
  fields: [
    {
      name: 'rates',
      // In the command's input.
      words: () => [],
      label: 'Requests per second',
      help: 'Of all these machines together: the mean of each step in order, separated by commas, such as 812,,640. Leave unknown steps empty.',
      initial: '',
      fallback: (_known, place, asOf) => unknownRates(absolute(place, asOf), String(place['step'])),
      wide: true,
    },
    { name: 'step', label: 'Length of a step', help: 'Counted from midnight UTC: 1h, 10m.', initial: '1h' },
    {
      name: 'full',
      advanced: true,
      label: 'Full at',
      help: 'Load at which no more requests are served, 0 to 1.',
      initial: '1',
    },
    COEFFICIENT,
  ],
  // The load of each step is an answer, too.
  because: ({ because, rows }) => (rows.length === 0 ? because : null),
  sentence({ by_apu, by_hardware, rows }, used) {
    const best = by_hardware.limit ? by_hardware : by_apu;
    if (best.limit)
      return `These machines serve ${figure(best.limit, REQUESTS)}, by APU${best.curved ? '; but the points bend, so the limit is not reliable' : ''}.${assumedOf(used)}`;
    if (!rows.some((r) => r.apu)) return by_apu.because?.detail ?? 'No step has a load.';
    return `${span(rows)} With request rates this report says how many requests the machines can serve.${assumedOf(used)}`;
  },
  naive: ({ by_utilisation }) =>
    by_utilisation.limit ? `CPU utilisation promises ${figure(by_utilisation.limit, REQUESTS)}.` : null,
  chart({ rows, by_apu, by_utilisation, full }) {
    const rated = rows.some((r) => r.rate !== null);
    if (!rated) {
      const points = (of: (r: Schemas['StepRow']) => Schemas['Figure'] | null) =>
        rows.flatMap((r) => {
          const load = of(r);
          return load ? [{ x: Date.parse(r.from), ...load }] : [];
        });
      return {
        kind: 'lines',
        label: 'Load over time',
        over: 'time',
        of: 'load',
        unit: SHARE,
        ...hourly(rows.map((r) => r.from)),
        lines: [
          { name: 'APU', as: 'line', points: points((r) => r.apu) },
          { name: 'CPU utilisation', as: 'line', points: points((r) => r.utilisation) },
        ],
      };
    }
    const at = (of: (r: Schemas['StepRow']) => Schemas['Figure'] | null) =>
      rows.flatMap((r) => {
        const load = of(r);
        return load && r.rate !== null ? [{ x: r.rate, ...load }] : [];
      });
    const end = Math.max(
      ...rows.map((r) => r.rate ?? 0),
      by_apu.limit?.value ?? 0,
      by_utilisation.limit?.value ?? 0,
    );
    const fit = ({ slope, intercept }: Schemas['ForecastAnswer']) =>
      slope === null || intercept === null
        ? []
        : [0, end].map((x) => ({ x, value: intercept + slope * x, lo: null, hi: null }));
    return {
      kind: 'lines',
      label: 'Load by request rate',
      over: 'requests per second',
      of: 'load',
      xUnit: NUMBER,
      unit: SHARE,
      limit: { value: full, name: 'full' },
      lines: [
        { name: 'APU', as: 'points', points: at((r) => r.apu) },
        { name: 'CPU utilisation', as: 'points', points: at((r) => r.utilisation) },
        { name: 'fit of APU', as: 'naive', points: fit(by_apu) },
        { name: 'fit of utilisation', as: 'naive', points: fit(by_utilisation) },
      ],
    };
  },
  tables: ({ rows }) => [
    table({
      label: 'By step',
      rows,
      keyOf: (r) => r.from,
      columns: (c) => [
        c.text('from', (r) => r.from.replace('T', ' ').replace('Z', ' UTC')),
        c.number('requests/s', (r) => r.rate, NUMBER),
        c.figure('APU', (r) => r.apu, SHARE),
        c.figure('utilisation', (r) => r.utilisation, SHARE),
        c.figure('APU by counters', (r) => r.hardware_apu, SHARE),
        c.count('profiles', (r) => r.visits),
      ],
    }),
  ],
  assumptions: ({ by_apu, by_utilisation, by_hardware }) =>
    (
      [
        ['APU', by_apu],
        ['utilisation', by_utilisation],
        ['APU by counters', by_hardware],
      ] as const
    ).map(([name, f]) =>
      f.limit
        ? `${name}: ${count(f.observations ?? 0)} observations, R² ${write(f.r2 ?? 0, RATIO)}; the largest observed rate is ${write(f.reach ?? 0, SHARE)} of the limit.`
        : `${name}: ${f.because?.detail ?? 'no forecast.'}`,
    ),
  missing: (answer, _links, used) =>
    answer.by_apu.limit
      ? calibration(answer, used)
      : [
          ...calibration(answer, used),
          {
            text: 'Give the request rates of at least 8 steps above, or let the command query Prometheus (QUERY: the sum over these machines, such as sum(rate(http_requests_total[5m]))):',
            command: 'FLEETPROF_PROMETHEUS_URL=http://HOST:9090 fleetprof report capacity --prometheus QUERY',
          },
        ],
};

/** The lowest and the highest load, with their intervals. */
function span(rows: readonly Schemas['StepRow'][]): string {
  const loads = rows.flatMap((r) => (r.apu ? [r.apu] : [])).toSorted((a, b) => a.value - b.value);
  return `By APU the load is between ${figure(loads[0], SHARE)} and ${figure(loads[loads.length - 1], SHARE)} in the steps of this range.`;
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `1h`; NaN if it is not a length. */
function secondsOf(step: string): number {
  const [, digits, unit] = /^(\d+)([smhd])$/.exec(step) ?? [];
  return Number(digits) * (SECONDS[unit as 's'] ?? NaN);
}

/** The command reads times and rates from a file: here its standard input. */
function withRates({ rates = '', step = '', from = '', select = '' }: Used): string | null {
  const seconds = secondsOf(step);
  const first = Math.floor(Date.parse(from) / 1000 / seconds);
  const lines = rates
    .split(',')
    .flatMap((rate, k) => (rate.trim() === '' ? [] : [`${(first + k) * seconds},${rate.trim()}`]));
  if (lines.length === 0 || Number.isNaN(first)) return null;
  const command = words(['fleetprof report capacity --rates /dev/stdin', ...(select ? [select] : [])]);
  return `${words(["printf '%s\\n'", ...lines])} | ${command}`;
}

/** The longest range whose steps are filled in; more would not fit into a URL. */
const MOST_STEPS = 400;

/** As many unknown rates as the range has steps, so that the answer has the load of each. */
export function unknownRates(range: { from: string; to: string }, step: string): string {
  const seconds = secondsOf(step);
  const from = Math.floor(Date.parse(range.from) / 1000 / seconds);
  const to = Math.ceil(Date.parse(range.to) / 1000 / seconds);
  const steps = to - from;
  return steps > 1 && steps <= MOST_STEPS ? ','.repeat(steps - 1) : '';
}
