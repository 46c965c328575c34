/** Reports on the quality of the data. */
import { count, plural } from '../../../selection/numbers.ts';
import { figure, FINE_RATIO, NATS, NUMBER, SHARE, write } from '../../../views/chart/quantity.ts';
import { countColumn, figureColumn, nameColumn, numberColumn, textColumn } from '../columns.tsx';
import { all } from '../phrases.ts';
import type { Report, Schemas } from '../report.ts';

const BADGES: Readonly<Record<string, string>> = {
  steady: 'steady: small rows can be used, too',
  fair: 'fair: use it for the hottest rows',
  rough: 'rough: use it for the very hottest rows only',
  shifting: 'shifting: its days are not of the same thing',
  few: 'too small for a statement',
};

const STABILITY: Report<Schemas['StabilityAnswer']> = {
  kind: 'stability',
  group: 'Data quality',
  title: 'Stability',
  question: 'Can this profile be relied on?',
  needs: 'Profiles drawn at random.',
  explain:
    'Random halves of the profiles differ; from how the difference falls with more profiles follows the share of samples in the wrong rows. The entropy of each day says whether the days are of the same thing.',
  section: 'The badge of a profile',
  route: '/api/v1/analysis/stability',
  fields: [
    {
      name: 'by',
      label: 'Profile by',
      help: '',
      initial: 'function',
      choices: ['function', 'file', 'binary', 'application'].map((value) => ({ value, text: value })),
    },
  ],
  sentence: ({ badge, misplaced, more_visits }) =>
    `The profile is ${BADGES[badge ?? 'few'] ?? badge}${misplaced ? `; ${figure(misplaced, SHARE)} of the samples are in the wrong rows` : ''}${more_visits !== null && more_visits > 0 ? `. ${plural(more_visits, 'more profile')} would make it steady` : ''}.`,
  chart: ({ rows }) =>
    rows.length === 0
      ? null
      : {
          kind: 'bars',
          label: 'Entropy by day',
          unit: NATS,
          series: ['entropy'],
          rows: rows.map((r) => ({ name: r.day.slice(0, 10), values: [r.entropy] })),
        },
  tables: ({ rows }) => [
    {
      label: 'By day (UTC)',
      rows,
      keyOf: (r: Schemas['DayRow']) => r.day,
      columns: [
        textColumn<Schemas['DayRow']>('day', (r) => r.day.slice(0, 10)),
        figureColumn<Schemas['DayRow']>('entropy', (r) => r.entropy, NATS, 'Of the profile over its rows.'),
        textColumn<Schemas['DayRow']>('verdict', (r) =>
          r.shifted ? 'another thing than the other days' : 'as the other days',
        ),
        countColumn<Schemas['DayRow']>('profiles', (r) => r.visits),
        numberColumn<Schemas['DayRow']>('samples', (r) => r.samples, NUMBER),
      ],
    },
  ],
};

const VERDICTS = { agree: 'agree', differ: 'differ', unclear: 'unclear' } as const;

const CROSS_CHECK: Report<Schemas['CrossCheckAnswer']> = {
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
      choices: ['datacenter', 'platform', 'cluster', 'kernel', 'machine'].map((value) => ({
        value,
        text: value,
      })),
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
    return `Samples and accounting ${all(said)}, within ${write(tolerance, SHARE)}; the largest discrepancy is ${write(Math.max(...rows.map((r) => Math.abs(r.discrepancy ?? 0)), 0), SHARE)}.`;
  },
  chart: ({ rows }) => ({
    kind: 'bars',
    label: 'Sampled ÷ accounted CPU time',
    unit: FINE_RATIO,
    series: ['ratio'],
    reference: { value: 1, name: 'equal' },
    rows: rows.slice(0, 20).map((r) => ({ name: r.value || 'not known', values: [r.ratio] })),
  }),
  tables: ({ rows, by }, links) => [
    {
      label: `By ${by}`,
      rows,
      keyOf: (r: Schemas['CrossCheckRow']) => r.value,
      columns: [
        nameColumn<Schemas['CrossCheckRow']>(
          by,
          (r) => r.value,
          (r) => links.value(by, r.value),
        ),
        figureColumn<Schemas['CrossCheckRow']>('ratio', (r) => r.ratio, FINE_RATIO),
        textColumn<Schemas['CrossCheckRow']>('verdict', (r) => VERDICTS[r.verdict]),
        numberColumn<Schemas['CrossCheckRow']>('sampled core-seconds', (r) => r.sampled_core_seconds, NUMBER),
        numberColumn<Schemas['CrossCheckRow']>(
          'accounted core-seconds',
          (r) => r.monitored_core_seconds,
          NUMBER,
        ),
        countColumn<Schemas['CrossCheckRow']>('profiles', (r) => r.visits),
      ],
    },
  ],
};

export const QUALITY_REPORTS = [STABILITY, CROSS_CHECK];
