/** Which programs should share a machine. */
import { exact } from '../../../estimates/interval.ts';
import { SHARE } from '../../../views/chart/quantity.ts';
import { all, few } from '../phrases.ts';
import { argument, cautiously, table, type Report, type Schemas } from '../report.ts';
import { chipOf, EXPERIMENTS, trainedBy, TRAINING } from './chips.ts';

export const PLACEMENT: Report<Schemas['PlacementAnswer']> = {
  kind: 'placement',
  group: 'Interference',
  title: 'Placement',
  question: 'Which programs should share a machine?',
  needs: 'The same as interference, for each program with a limit.',
  explain:
    'The advisor places programs on equal machines so that limits of slowdown hold, and then with the least sum of slowdowns, by exchanging programs as long as that helps. The result is not proved optimal.',
  section: 'Placement',
  route: '/api/v1/analysis/placement',
  fields: [
    {
      name: 'tenants',
      label: 'Programs',
      help: 'Separated by commas, each with the largest slowdown that it may suffer, if limited: checkout:0.1,feed,feed. Empty: the two heaviest applications, twice.',
      initial: '',
      suggest: 'application',
      fallback: ({ application: [a, b] }) => (a && b ? [a, b, a, b].join(',') : ''),
      required: true,
      wide: true,
      words: argument,
    },
    { name: 'machines', label: 'Machines', help: 'Number of machines.', initial: '2', required: true },
    { name: 'slots', label: 'Programs on a machine', help: 'At most.', initial: '2' },
    {
      name: 'cautious',
      words: cautiously,
      label: 'Limits hold',
      help: '',
      initial: 'false',
      choices: [
        { value: 'false', text: 'by the estimate' },
        { value: 'true', text: 'at the upper end of the interval' },
      ],
    },
    ...TRAINING,
  ],
  sentence({ rows, ended }) {
    const machines = new Map<number, string[]>();
    for (const r of rows)
      if (r.machine !== null) machines.set(r.machine, [...(machines.get(r.machine) ?? []), r.application]);
    const said = [...machines]
      .sort(([a], [b]) => a - b)
      .map(([m, names]) => `machine ${m + 1}: ${all(names)}`);
    const broken = rows.filter((r) => r.kept === false).map((r) => r.application);
    const limit = broken.length > 0 ? ` The limits of ${all(broken)} cannot be kept.` : '';
    return `Place ${few(said, 4)}.${limit}${ended ? '' : ' The search stopped at its limit.'}`;
  },
  chart: ({ rows }) => ({
    kind: 'bars',
    label: 'Predicted slowdown',
    unit: SHARE,
    series: ['slowdown'],
    rows: rows.map((r, k) => ({
      name: `${k + 1} ${r.application}`,
      values: [exact(r.degradation)],
    })),
  }),
  tables: ({ rows }) => [
    table({
      label: 'Programs',
      rows: rows.map((row, number) => ({ ...row, number: number + 1 })),
      keyOf: (r) => String(r.number),
      columns: (c) => [
        c.count('program', (r) => r.number),
        c.application((r) => r.application),
        c.count('machine', (r) => (r.machine === null ? null : r.machine + 1)),
        c.number('slowdown', (r) => r.degradation, SHARE),
        c.number('limit', (r) => r.most, SHARE),
        c.note((r) => r.because?.detail ?? (r.kept === false ? 'limit not kept' : '')),
      ],
    }),
  ],
  assumptions: ({ source, chip }) => [...trainedBy(source), ...chipOf(chip)],
  missing: ({ because }) => (because ? EXPERIMENTS : []),
};
