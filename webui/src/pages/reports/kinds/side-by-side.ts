/** Two platforms, counter by counter. */
import { figure, write, NUMBER, RATIO, FINE_SHARE } from '../../../views/chart/quantity.ts';
import { shortPlatform } from '../phrases.ts';
import { platformField, table, type Report, type Schemas } from '../report.ts';

export const SIDE_BY_SIDE: Report<Schemas['SideAnswer']> = {
  kind: 'side-by-side',
  group: 'Platforms',
  title: 'Two platforms',
  question: 'How do two platforms run the same work, counter by counter?',
  needs: 'Counters on both platforms; filter by an application to compare the same work.',
  explain:
    'Each ratio of counters on both platforms, and the quotient second ÷ first with its interval. A quotient is marked if its interval excludes 1. Figures that certainly differ at least tenfold may count different things under one name.',
  section: 'Audits',
  route: '/api/v1/analysis/side-by-side',
  command: 'fleetprof report platforms',
  fields: [platformField('first', 'First platform', 0), platformField('second', 'Second platform', 1)],
  sentence({ rows, first, second }) {
    const cpi = rows.find((r) => r.name === 'cpi');
    const sure = rows.filter((r) => r.significant).length;
    const said = cpi?.factor
      ? `An instruction takes ${figure(cpi.factor, RATIO)} times as many cycles on ${shortPlatform(second)} as on ${shortPlatform(first)}`
      : `${shortPlatform(second)} against ${shortPlatform(first)}`;
    return `${said}; ${sure} of ${rows.length} figures certainly differ.${cpi?.factor ? '' : ' There is no CPI of both.'}`;
  },
  chart: ({ rows }) => ({
    kind: 'bars',
    label: 'Second platform ÷ first platform',
    unit: RATIO,
    series: ['quotient'],
    reference: { value: 1, name: 'equal' },
    // A quotient of ten and more would leave no room for the others; the table has it.
    rows: rows
      .filter((r) => r.factor && !r.suspect && r.factor.value < 10)
      .map((r) => ({ name: r.name, values: [r.factor] })),
  }),
  tables: ({ rows, first, second }) => [
    table({
      label: 'Counter by counter',
      rows,
      keyOf: (r) => r.name,
      columns: (c) => [
        c.text('figure', (r) => r.name),
        c.figure(shortPlatform(first), (r) => r.first, NUMBER),
        c.figure(shortPlatform(second), (r) => r.second, NUMBER),
        c.figure('quotient', (r) => r.factor, RATIO),
        c.text('verdict', (r) =>
          r.suspect ? 'may count different things' : r.significant ? 'differs' : 'no certain difference',
        ),
        c.text('unit', (r) => r.unit),
      ],
    }),
  ],
  assumptions: ({ interval_level }) => [
    `Intervals of quotients have the level ${write(interval_level, FINE_SHARE)}, because many figures are compared at once.`,
  ],
};
