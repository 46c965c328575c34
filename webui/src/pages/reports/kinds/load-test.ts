/** Whether a load test runs what production runs. */
import { words } from '../../../app/copyAs.ts';
import { count, percent } from '../../../selection/numbers.ts';
import { earlier } from '../../../selection/periods.ts';
import { absolute } from '../../../selection/time.ts';
import { exact } from '../../../estimates/interval.ts';
import { figure, write, RATIO, FINE_SHARE } from '../../../views/chart/quantity.ts';
import { choicesOf, table, type Report, type Schemas } from '../report.ts';

export const LOAD_TEST: Report<Schemas['LoadTestAnswer']> = {
  kind: 'load-test',
  group: 'Releases',
  title: 'Load test',
  question: 'Does a load test run what production runs?',
  needs: 'The selection is the test; the base is production. Without a base, the previous period.',
  explain:
    'The distance between the two profiles means nothing by itself, because production differs from itself too. Random parts of production with as many profiles and samples give that difference. A test further off than 95 % of them is not representative, and the functions that make the difference are named.',
  section: 'Audits',
  route: '/api/v1/analysis/load-test',
  readsEvent: true,
  command: ({ select = '{}', base_select: base = select }) =>
    words(['fleetprof report load-test', select, base]),
  fields: [
    {
      name: 'base_from',
      words: (value) => ['--production-from', value],
      label: 'Production from',
      help: 'RFC 3339 or now-2d. Empty: the period before the selection.',
      initial: '',
      fallback: (_known, selection, asOf) =>
        earlier(absolute(selection, asOf), 'previous period')?.from ?? '',
      required: true,
    },
    {
      name: 'base_to',
      words: (value) => ['--production-to', value],
      label: 'Production to',
      help: 'RFC 3339 or now. Empty: the start of the selection.',
      initial: '',
      fallback: (_known, selection, asOf) => earlier(absolute(selection, asOf), 'previous period')?.to ?? '',
      required: true,
    },
    {
      name: 'base_select',
      words: () => [],
      advanced: true,
      label: 'Production’s filters',
      help: 'Such as {cluster="prod"}. Empty: those of the selection.',
      initial: '',
    },
    {
      name: 'by',
      label: 'Compare by',
      help: '',
      initial: 'function',
      choices: choicesOf(['function', 'file', 'binary', 'application']),
    },
  ],
  sentence({ representative, matched, floor, p }) {
    const far = `Its distance from production is ${figure(matched, RATIO)}, that of random parts of production ${figure(floor, RATIO)} (0: the same rows, 2: no row in common)`;
    if (representative === null) return `${far}.`;
    return `${representative ? 'The data show no difference between the test and a part of production' : 'The test does not run what production runs'}. ${far} (p = ${write(p ?? 1, { digits: (v) => v.toPrecision(2), suffix: '' })}).`;
  },
  naive: ({ distance }) =>
    distance === null
      ? null
      : `The plain distance of the two profiles, ${write(distance, RATIO)}, does not say this.`,
  chart: ({ rows, matched, floor }) =>
    rows.length > 0
      ? {
          kind: 'bars',
          label: 'Rows that make the difference',
          unit: FINE_SHARE,
          series: ['test', 'production'],
          rows: rows.slice(0, 15).map((r) => ({
            name: Object.values(r.key)[0] || 'not known',
            values: [exact(r.test_share), exact(r.production_share)],
          })),
        }
      : matched && floor
        ? {
            kind: 'bars',
            label: 'Distance from production',
            unit: RATIO,
            series: ['distance'],
            rows: [
              { name: 'the test', values: [matched] },
              { name: 'parts of production', values: [floor] },
            ],
          }
        : null,
  tables: ({ rows, rows_total }) => [
    table({
      label: 'Rows that certainly differ',
      rows,
      total: rows_total,
      keyOf: (r) => JSON.stringify(r.key),
      columns: (c) => [
        c.text('row', (r) => Object.values(r.key)[0] || 'not known'),
        c.number('test', (r) => r.test_share, FINE_SHARE),
        c.number('production', (r) => r.production_share, FINE_SHARE),
        c.figure('difference', (r) => r.delta, FINE_SHARE),
      ],
    }),
  ],
  assumptions: ({ compared_visits, compared_samples, covered, rows }) => [
    ...(rows.length === 0 ? ['No single row certainly differs, so there is no table of rows.'] : []),
    ...(compared_visits === null
      ? []
      : [`Compared ${count(compared_visits)} profiles and ${count(compared_samples ?? 0)} samples of each.`]),
    ...(covered === null
      ? []
      : [`The test ran code that is ${percent(covered, 1)} of production’s samples.`]),
  ],
};
