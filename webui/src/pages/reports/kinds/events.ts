/** The hardware events that determine an application’s speed. */
import { count } from '../../../selection/numbers.ts';
import { exact } from '../../../estimates/interval.ts';
import { write, SHARE } from '../../../views/chart/quantity.ts';
import { all } from '../phrases.ts';
import { table, type Report, type Schemas } from '../report.ts';
import { target } from './chips.ts';

export const EVENTS: Report<Schemas['EventsAnswer']> = {
  kind: 'events',
  group: 'Interference',
  title: 'Events',
  question: 'Which hardware events determine how fast an application runs?',
  needs: 'A campaign that counts events (--counter) on machines that the application has nearly to itself.',
  explain:
    'Gradient-boosted trees model instructions per cycle by the counted events; an event’s importance is the improvement by its splits. The least important events are removed repeatedly, and the set with the least error on unseen runs wins. The coupling of a machine’s setting to an event says which setting to tune.',
  section: 'Events',
  route: '/api/v1/analysis/events',
  fields: [
    target('Its speed is explained.'),
    {
      name: 'least_share',
      label: 'Least share',
      help: 'Of a machine’s CPU time that the application must have, 0.5 to 1.',
      initial: '0.8',
    },
  ],
  sentence({ application, rows, error, tune }) {
    const dominant = rows.filter((r) => r.dominates).map((r) => `${r.event} (${write(r.importance, SHARE)})`);
    return `${application} depends most on ${all(dominant) || 'no single event'}${error === null ? '' : `; the model is ${write(error, SHARE)} off on new runs`}${tune === null ? '' : `. The setting to tune is ${tune}`}.`;
  },
  naive: ({ baseline_error }) =>
    baseline_error === null ? null : `Always predicting the mean is ${write(baseline_error, SHARE)} off.`,
  chart: ({ rows }) => ({
    kind: 'bars',
    label: 'Importance of events',
    unit: SHARE,
    series: ['importance'],
    rows: rows.slice(0, 15).map((r) => ({ name: r.event, values: [exact(r.importance)] })),
  }),
  tables: ({ rows, rows_total, pairs }) => [
    table({
      label: 'Events',
      rows,
      total: rows_total,
      keyOf: (r) => r.event,
      columns: (c) => [
        c.text('event', (r) => r.event),
        c.number('importance', (r) => r.importance, SHARE),
        c.number('counted in', (r) => r.counted, SHARE, 'Share of the intervals in which it was counted.'),
        c.note((r) => (r.dominates ? 'dominates' : '')),
      ],
    }),
    table({
      label: 'Settings and events',
      rows: pairs.slice(0, 12),
      total: pairs.length,
      keyOf: (r) => JSON.stringify([r.parameter, r.event]),
      columns: (c) => [
        c.text('setting', (r) => r.parameter),
        c.text('event', (r) => r.event),
        c.number('coupling', (r) => r.coupling, SHARE),
        c.number('dependence', (r) => r.dependence, SHARE),
        c.text('verdict', (r) => (r.significant ? 'certain' : 'may be chance')),
      ],
    }),
  ],
  assumptions: ({ intervals, runs, all_events_error, coupling_because }) => [
    `${count(intervals)} intervals of ${count(runs)} runs.`,
    ...(all_events_error === null
      ? []
      : [`With all events the model is ${write(all_events_error, SHARE)} off.`]),
    ...(coupling_because ? [coupling_because.detail] : []),
  ],
  missing: ({ because }) =>
    because
      ? [
          {
            text: 'Count events on machines that the application has nearly to itself:',
            command:
              'fleetprof campaigns set counting --machines cluster=NAME --cgroups 16 --counter llc-misses --counter branch-misses',
          },
        ]
      : [],
};
