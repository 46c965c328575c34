/** Savings by hardware that makes some functions faster. */
import { exact } from '../../../estimates/interval.ts';
import { figure, FINE_SHARE } from '../../../views/chart/quantity.ts';
import { argument, table, type Report, type Schemas } from '../report.ts';

/** Functions that the chart draws. */
const BARS = 20;

export const FEATURE: Report<Schemas['FeatureAnswer']> = {
  kind: 'feature',
  group: 'Platforms',
  title: 'A hardware feature',
  question: 'What would faster hardware for some functions save?',
  needs: 'CPU profiles, and a pattern of the functions that the feature makes faster.',
  explain:
    'The share of all functions whose names match, together, and the share that is saved if they become faster by a factor: share × (1 − 1 ÷ factor). A function is counted by its own time, without its callees.',
  section: 'Audits',
  route: '/api/v1/analysis/feature',
  readsEvent: true,
  fields: [
    {
      name: 'functions',
      label: 'Functions',
      help: 'An RE2 expression that matches any part of the name.',
      initial: '^(__)?mem(cpy|move|set)',
      required: true,
      wide: true,
      words: argument,
    },
    { name: 'speedup', label: 'Speedup', help: 'A factor: 2 means half the time.', initial: '2' },
  ],
  sentence: ({ share, saved, speedup, functions }) =>
    `Functions that match ${functions} use ${figure(share, FINE_SHARE)} of the CPU time; made ${speedup} times as fast, they save ${figure(saved, FINE_SHARE)}.`,
  chart: ({ rows }) => ({
    kind: 'bars',
    label: 'Share of CPU time',
    unit: FINE_SHARE,
    series: ['self'],
    rows: rows.slice(0, BARS).map((r) => ({ name: r.function, values: [exact(r.share)] })),
  }),
  tables: ({ rows, rows_total }) => [
    table({
      label: 'Functions',
      rows,
      total: rows_total,
      keyOf: (r) => r.function,
      columns: (c) => [c.text('function', (r) => r.function), c.number('share', (r) => r.share, FINE_SHARE)],
    }),
  ],
  assumptions: ({ low_confidence }) =>
    low_confidence ? ['Few machines contribute, so the interval is wide.'] : [],
};
