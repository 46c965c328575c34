/** How reliable a profile is. */
import { plural } from '../../../selection/numbers.ts';
import { figure, NUMBER, SHARE, NATS } from '../../../views/chart/quantity.ts';
import { choicesOf, table, type Report, type Schemas } from '../report.ts';

const BADGES: Readonly<Record<string, string>> = {
  steady: 'steady: small rows can be used, too',
  fair: 'fair: use it for the hottest rows',
  rough: 'rough: use it for the very hottest rows only',
  shifting: 'shifting: its days are not of the same thing',
  few: 'too small for a statement',
};

export const STABILITY: Report<Schemas['StabilityAnswer']> = {
  kind: 'stability',
  group: 'Data quality',
  title: 'Stability',
  question: 'Can this profile be relied on?',
  needs: 'Profiles drawn at random.',
  explain:
    'Random halves of the profiles differ; from how the difference falls with more profiles follows the share of samples in the wrong rows. The entropy of each day says whether the days are of the same thing.',
  section: 'The badge of a profile',
  route: '/api/v1/analysis/stability',
  readsEvent: true,
  fields: [
    {
      name: 'by',
      label: 'Profile by',
      help: '',
      initial: 'function',
      choices: choicesOf(['function', 'file', 'binary', 'application']),
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
    table({
      label: 'By day (UTC)',
      rows,
      keyOf: (r) => r.day,
      columns: (c) => [
        c.text('day', (r) => r.day.slice(0, 10)),
        c.figure('entropy', (r) => r.entropy, NATS, 'Of the profile over its rows.'),
        c.text('verdict', (r) => (r.shifted ? 'another thing than the other days' : 'as the other days')),
        c.count('profiles', (r) => r.visits),
        c.number('samples', (r) => r.samples, NUMBER),
      ],
    }),
  ],
};
