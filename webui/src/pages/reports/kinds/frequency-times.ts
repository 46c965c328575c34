/** Slowdowns at lower frequencies, by times that the reader measured. */
import { count } from '../../../selection/numbers.ts';
import { figure, write, NUMBER, SHARE, FINE_RATIO, MHZ, SECONDS } from '../../../views/chart/quantity.ts';
import { repeated, table, type Report, type Schemas } from '../report.ts';
import { FREQUENCY_FIELDS, slowdownChart } from './slowdowns.ts';

export const FREQUENCY_TIMES: Report<Schemas['FrequencyTimesAnswer']> = {
  kind: 'frequency-times',
  group: 'Frequency',
  title: 'Frequency by your times',
  question: 'How much slower is a run at a lower frequency, by times that you measured?',
  needs: 'Times of the same work at two or more frequencies. It reads no profiles.',
  explain:
    'T(f) = A/f + B is fitted to your times. Each frequency is also predicted from the others and compared with its measurement, beside the simple rule that all time scales with the clock.',
  section: 'Frequency',
  route: '/api/v1/analysis/frequency-times',
  readsFleet: false,
  fields: [
    {
      name: 'runs',
      label: 'Runs',
      help: 'MHz and seconds of each run, and the memory’s MHz if it varies: 1200:18.3,1800:12.9. The first values are an example.',
      initial: '1200:18.3,1800:12.9,2400:10.1',
      required: true,
      wide: true,
      words: repeated('--run'),
    },
    ...FREQUENCY_FIELDS,
  ],
  sentence({ lowest_mhz, lowest_because, performance, base_mhz, off_chip }) {
    if (!lowest_mhz) return lowest_because?.detail ?? 'No frequency keeps the performance.';
    return `The run keeps ${write(performance, SHARE)} of its performance at ${count(base_mhz ?? 0)} MHz down to ${figure(lowest_mhz, MHZ)}; ${figure(off_chip, SHARE)} of its time does not scale with the clock.`;
  },
  naive: ({ held_out_error, naive_error, performance, base_mhz }) =>
    base_mhz === null
      ? null
      : `If all time scaled with the clock (1/f), it would need ${write(performance * base_mhz, MHZ)}.${held_out_error === null || naive_error === null ? '' : ` Predicted from the other frequencies, A/f + B is ${write(held_out_error, SHARE)} off on average; 1/f is ${write(naive_error, SHARE)} off.`}`,
  chart: ({ slowdowns }) => slowdownChart([{ application: 'A/f + B', slowdowns }]),
  tables: ({ rows, slowdowns }) => [
    table({
      label: 'Predictions',
      rows: slowdowns,
      keyOf: (r) => String(r.mhz),
      columns: (c) => [
        c.number('frequency', (r) => r.mhz, MHZ),
        c.figure('slowdown', (r) => r.slowdown, SHARE),
        c.number('by 1/f', (r) => r.naive, SHARE),
        c.figure('one more run takes', (r) => r.seconds, SECONDS),
      ],
    }),
    table({
      label: 'Your times',
      rows,
      keyOf: (r) => `${r.mhz} ${r.memory_mhz}`,
      columns: (c) => [
        c.number('frequency', (r) => r.mhz, MHZ),
        c.number('measured', (r) => r.seconds, SECONDS),
        c.number('fitted', (r) => r.fitted, SECONDS),
        c.number('error from the others', (r) => r.held_out, SHARE),
        c.number('error of 1/f', (r) => r.naive, SHARE),
        c.count('runs', (r) => r.runs),
      ],
    }),
  ],
  assumptions: ({ runs, on_chip_cycles, fixed_seconds, spread, clipped }) => [
    `${count(runs)} runs.`,
    ...(on_chip_cycles ? [`A: ${figure(on_chip_cycles, NUMBER)} cycles.`] : []),
    ...(fixed_seconds ? [`B: ${figure(fixed_seconds, SECONDS)}.`] : []),
    ...(spread === null
      ? []
      : [
          `Times scatter by ${write(spread, { ...SHARE, digits: (v) => FINE_RATIO.digits(100 * v) })} around the fit.`,
        ]),
    ...(clipped ? ['A term below 0 by chance was set to 0.'] : []),
  ],
};
