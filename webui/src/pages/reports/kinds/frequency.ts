/** Slowdowns at lower frequencies, by misses of the last cache. */
import { count } from '../../../selection/numbers.ts';
import { figure, write, NUMBER, SHARE, MHZ } from '../../../views/chart/quantity.ts';
import { table, type Report, type Schemas } from '../report.ts';
import { FREQUENCY_FIELDS, slowdownChart } from './slowdowns.ts';

export const FREQUENCY: Report<Schemas['FrequencyAnswer']> = {
  kind: 'frequency',
  group: 'Frequency',
  title: 'Frequency by misses',
  question: 'How much slower are applications at a lower frequency?',
  needs:
    'llc-misses sampled beside cpu, and the memory latency of each platform: fleetprof calibrate memory.',
  explain:
    'The time of work is A/f + B: instructions on the chip take fewer seconds at a higher frequency f, misses that wait for memory do not. B is the misses of the last cache times the memory’s latency, A the rest. The more an application waits for memory, the less a lower frequency costs.',
  section: 'Frequency',
  route: '/api/v1/analysis/frequency',
  fields: [
    {
      name: 'latency_ns',
      label: 'Assumed latency (ns)',
      help: 'Of a miss, on platforms without a measured one. Empty: leave these platforms out.',
      initial: '90',
    },
    ...FREQUENCY_FIELDS,
  ],
  sentence({ rows, performance, base_mhz }) {
    const row = rows.find((r) => r.lowest_mhz) ?? rows[0];
    if (!row) return 'No application has a prediction.';
    if (!row.lowest_mhz)
      return `${row.application}: ${row.because?.detail ?? 'no frequency keeps the performance.'}`;
    return `${row.application} keeps ${write(performance, SHARE)} of its performance at ${count(base_mhz ?? 0)} MHz down to ${figure(row.lowest_mhz, MHZ)}; ${figure(row.off_chip, SHARE)} of its time waits for memory.`;
  },
  naive: ({ performance, base_mhz }) =>
    base_mhz === null
      ? null
      : `If all time scaled with the clock (1/f), it would need ${write(performance * base_mhz, MHZ)}.`,
  chart: ({ rows }) => slowdownChart(rows),
  tables: ({ rows, rows_total }) => [
    table({
      label: 'By application',
      rows,
      total: rows_total,
      keyOf: (r) => r.application,
      columns: (c) => [
        c.application((r) => r.application),
        c.figure('waits for memory', (r) => r.off_chip, SHARE),
        c.figure('lowest frequency', (r) => r.lowest_mhz, MHZ),
        c.number('core-seconds', (r) => r.cpu_seconds, NUMBER),
        c.count('profiles', (r) => r.visits),
        c.note((r) => r.because?.detail ?? ''),
      ],
    }),
  ],
  missing: ({ because }, links) =>
    because
      ? [
          {
            text: 'Where machines run at several frequencies, no misses are needed:',
            link: {
              href: links.report('frequency-fit'),
              text: 'slowdowns fitted to machines at several frequencies',
            },
          },
        ]
      : [],
};
