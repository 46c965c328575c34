/** Slowdowns at lower frequencies, fitted to machines that run at several. */
import { count } from '../../../selection/numbers.ts';
import { figure, write, RATIO, SHARE, MHZ } from '../../../views/chart/quantity.ts';
import { shortPlatform } from '../phrases.ts';
import { table, type Report, type Schemas } from '../report.ts';
import { FREQUENCY_FIELDS, slowdownChart } from './slowdowns.ts';

export const FREQUENCY_FIT: Report<Schemas['FrequencyFitAnswer']> = {
  kind: 'frequency-fit',
  group: 'Frequency',
  title: 'Frequency by a fit',
  question: 'How much slower are applications at a lower frequency, by machines that run at several?',
  needs: 'Counted control groups (--cgroups) on machines at different frequencies.',
  explain:
    'Seconds per instruction are fitted as A/f + B to each application on each platform, over machines that run at different frequencies. The fit has terms for how busy a machine is. It needs neither misses nor latencies.',
  section: 'Frequency',
  route: '/api/v1/analysis/frequency-fit',
  fields: FREQUENCY_FIELDS,
  sentence({ rows, performance }) {
    const row = rows.find((r) => r.lowest_mhz) ?? rows[0];
    if (!row) return 'No application has a fit.';
    if (!row.lowest_mhz)
      return `${row.application}: ${row.because?.detail ?? 'no frequency keeps the performance.'}`;
    return `${row.application} on ${shortPlatform(row.platform)} keeps ${write(performance, SHARE)} of its performance at ${count(row.base_mhz ?? 0)} MHz down to ${figure(row.lowest_mhz, MHZ)}; ${figure(row.off_chip, SHARE)} of its time does not scale with the clock.`;
  },
  naive({ rows, performance }) {
    const row = rows.find((r) => r.lowest_mhz);
    return row?.base_mhz
      ? `If all time scaled with the clock (1/f), it would need ${write(performance * row.base_mhz, MHZ)}.`
      : null;
  },
  chart({ rows }) {
    const fitted = rows.filter((r) => r.because === null);
    return slowdownChart(fitted.filter((r) => r.platform === fitted[0].platform));
  },
  tables: ({ rows, rows_total }) => [
    table({
      label: 'By application and platform',
      rows,
      total: rows_total,
      keyOf: (r) => `${r.application}\n${r.platform}`,
      columns: (c) => [
        c.application((r) => r.application),
        c.platform('platform', (r) => r.platform),
        c.figure(
          'off the clock',
          (r) => r.off_chip,
          SHARE,
          'Share of the time that does not scale with the clock.',
        ),
        c.figure('CPI on the chip', (r) => r.on_chip_cpi, RATIO),
        c.figure('lowest frequency', (r) => r.lowest_mhz, MHZ),
        c.number(
          'load correlation',
          (r) => r.load_correlation,
          RATIO,
          'Near 1 or −1 the effects of frequency and load cannot be separated.',
        ),
        c.count('profiles', (r) => r.visits),
        c.count('machines', (r) => r.machines),
        c.note((r) => r.because?.detail ?? (r.clipped ? 'a term below 0 was set to 0' : '')),
      ],
    }),
  ],
};
