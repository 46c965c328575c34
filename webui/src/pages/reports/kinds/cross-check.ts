/** Samples beside the machines’ own accounting of CPU time. */
import { count } from '../../../selection/numbers.ts';
import { figure, write, NUMBER, SHARE, FINE_RATIO } from '../../../views/chart/quantity.ts';
import { all } from '../phrases.ts';
import { choicesOf, table, type Report, type Schemas } from '../report.ts';

const VERDICTS = { agree: 'agree', differ: 'differ', unclear: 'unclear' } as const;

export const CROSS_CHECK: Report<Schemas['CrossCheckAnswer']> = {
  kind: 'cross-check',
  group: 'Data quality',
  title: 'Cross-check',
  question: 'Do samples agree with the machines’ own accounting of CPU time?',
  needs: 'CPU profiles; the gateways read the accounting with each.',
  explain:
    'Core-seconds by samples are compared with the kernels’ own accounting in the same profiles. The two agree if the interval of their ratio lies within 5 % of 1, differ if it lies outside, and are unclear otherwise.',
  section: 'Ratios: CPI and other derived metrics',
  route: '/api/v1/analysis/cross-check',
  fields: [
    {
      name: 'by',
      label: 'One row for each',
      help: '',
      initial: 'datacenter',
      choices: choicesOf(['datacenter', 'platform', 'cluster', 'kernel', 'machine']),
    },
  ],
  sentence({ rows, tolerance }) {
    const counts = (['agree', 'differ', 'unclear'] as const)
      .map((verdict) => [verdict, rows.filter((r) => r.verdict === verdict)] as const)
      .filter(([, found]) => found.length > 0);
    const said = counts.map(
      ([verdict, found]) =>
        `${VERDICTS[verdict]} in ${found.length <= 4 ? all(found.map((r) => r.value || 'an unknown place')) : `${count(found.length)} of ${count(rows.length)}`}`,
    );
    const furthest = rows
      .filter((r) => r.ratio)
      .toSorted((a, b) => Math.abs(b.discrepancy ?? 0) - Math.abs(a.discrepancy ?? 0))[0];
    const largest = furthest
      ? `; furthest from 1 is the ratio in ${furthest.value || 'an unknown place'}: ${figure(furthest.ratio, FINE_RATIO)}`
      : '';
    return `Samples and accounting ${all(said)}, within ${write(tolerance, SHARE)}${largest}.`;
  },
  chart: ({ rows, tolerance }) => ({
    kind: 'bars',
    label: 'Sampled ÷ accounted CPU time',
    unit: FINE_RATIO,
    series: ['ratio'],
    reference: { value: 1, name: 'equal', around: [1 - tolerance, 1 + tolerance] },
    rows: rows.slice(0, 20).map((r) => ({ name: r.value || 'not known', values: [r.ratio] })),
  }),
  tables: ({ rows, by }) => [
    table({
      label: `By ${by}`,
      rows,
      keyOf: (r) => r.value,
      columns: (c) => [
        c.label(by, (r) => r.value),
        c.figure('ratio', (r) => r.ratio, FINE_RATIO),
        c.text('verdict', (r) => VERDICTS[r.verdict]),
        c.number('sampled core-seconds', (r) => r.sampled_core_seconds, NUMBER),
        c.number('accounted core-seconds', (r) => r.monitored_core_seconds, NUMBER),
        c.count('profiles', (r) => r.visits),
      ],
    }),
  ],
};
