/** Ratios of counters, such as CPI. */
import { hourly } from '../steps.ts';
import { figure, NUMBER, RATIO } from '../../../views/chart/quantity.ts';
import { few, shortPlatform } from '../phrases.ts';
import { ROWS, table, type Links, type Report, type Schemas } from '../report.ts';
import type { Line } from '../../../views/chart/LineChart.tsx';

const RATIOS_NAMED: readonly [string, string][] = [
  ['cpi', 'cycles per instruction (CPI)'],
  ['llc-mpki', 'misses of the last cache per 1000 instructions'],
  ['llc-miss-ratio', 'misses per reference of the last cache'],
  ['branch-mpki', 'branch misses per 1000 instructions'],
  ['branch-miss-ratio', 'misses per branch'],
  ['stall-ratio', 'stalled cycles per cycle'],
  ['relative-frequency', 'frequency relative to the nominal one'],
  ['frequency', 'frequency'],
];

function nameOf(key: Readonly<Record<string, string>>): string {
  const values = Object.entries(key).map(([label, value]) =>
    label === 'platform' ? shortPlatform(value) : value,
  );
  return values.join(', ') || 'everything';
}

function hrefOf(key: Readonly<Record<string, string>>, links: Links): string | null {
  const [label] = Object.keys(key);
  if (label === undefined) return null;
  return label === 'application' ? links.application(key[label]) : links.value(label, key[label]);
}

const LINES = 5;

const BARS = 20;

export const RATIOS: Report<Schemas['RatioAnswer']> = {
  kind: 'ratios',
  group: 'Platforms',
  title: 'CPI and other ratios',
  question: 'How many cycles does an instruction take, and where?',
  needs: 'Counters; by application also counted control groups (--cgroups).',
  explain:
    'A ratio of two counters, summed over the profiles and weighted for the fleet; never a mean of ratios. CPI rises where instructions wait, for memory above all. Other ratios say for what.',
  section: 'Ratios: CPI and other derived metrics',
  route: '/api/v1/analysis/ratios',
  command: 'fleetprof report cpi',
  fields: [
    {
      name: 'ratio',
      label: 'Ratio',
      help: 'Or in the URL two counters, such as llc-misses/instructions.',
      initial: 'cpi',
      choices: RATIOS_NAMED.map(([value, text]) => ({ value, text })),
    },
    {
      name: 'by',
      label: 'One row for each',
      help: '',
      initial: 'application',
      choices: [
        'application',
        'platform',
        'application,platform',
        'datacenter',
        'cluster',
        'kernel',
        'machine',
      ].map((value) => ({ value, text: value.replace(',', ' and ') })),
    },
    {
      name: 'step',
      label: 'Over time',
      help: '',
      initial: '',
      choices: [
        { value: '', text: 'the whole range' },
        { value: '1h', text: 'by hour' },
        { value: '6h', text: 'by 6 hours' },
        { value: '1d', text: 'by day' },
      ],
    },
    { ...ROWS, initial: '100' },
  ],
  sentence({ rows, unit }) {
    const known = rows.filter((r) => r.ratio);
    if (known.length === 0) return 'No row has both counters.';
    return `In ${unit}: ${few(known.map((r) => `${nameOf(r.key)} ${figure(r.ratio, RATIO)}`))}.`;
  },
  chart({ rows, ratio, unit, step_seconds }) {
    if (step_seconds === 0)
      return {
        kind: 'bars',
        label: unit,
        unit: RATIO,
        series: [ratio],
        rows: rows.slice(0, BARS).map((r) => ({ name: nameOf(r.key), values: [r.ratio] })),
      };
    const names = [...new Set(rows.map((r) => nameOf(r.key)))].slice(0, LINES);
    const lines: Line[] = names.map((name) => ({
      name,
      as: 'line',
      points: rows.flatMap((r) =>
        nameOf(r.key) === name && r.ratio && r.from ? [{ x: Date.parse(r.from), ...r.ratio }] : [],
      ),
    }));
    return {
      kind: 'lines',
      label: `${unit} over time`,
      over: 'time',
      of: unit,
      unit: RATIO,
      ...hourly(rows.flatMap((r) => r.from ?? [])),
      lines,
    };
  },
  tables: ({ rows, rows_total, ratio, step_seconds }) => [
    table({
      label: ratio,
      rows,
      total: rows_total,
      keyOf: (r) => JSON.stringify([r.key, r.from]),
      columns: (c) => [
        c.name(
          'name',
          (r) => nameOf(r.key),
          (r, links) => hrefOf(r.key, links),
        ),
        ...(step_seconds > 0 ? [c.text('from', (r) => r.from ?? '')] : []),
        c.figure('ratio', (r) => r.ratio, RATIO),
        c.number('numerator', (r) => r.numerator, NUMBER),
        c.number('denominator', (r) => r.denominator, NUMBER),
        c.count('profiles', (r) => r.visits),
        c.count('machines', (r) => r.machines),
      ],
    }),
  ],
  assumptions: () => ['Numerator and denominator stand for what was counted, not for the whole fleet.'],
};
