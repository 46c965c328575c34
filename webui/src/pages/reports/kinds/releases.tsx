/** Reports on roll-outs and load tests. */
import { count, percent } from '../../../selection/numbers.ts';
import { earlier } from '../../../selection/periods.ts';
import { absolute, length, localMinute } from '../../../selection/time.ts';
import { figure, FINE_SHARE, RATIO, SHARE, write } from '../../../views/chart/quantity.ts';
import { figureColumn, nameColumn, numberColumn, textColumn } from '../columns.tsx';
import { few, shortPlatform } from '../phrases.ts';
import type { Report, Schemas } from '../report.ts';

type ValueRow = Schemas['ValueRow'];

/** When a level was reached, with the bounds of that time. */
function reachedAt(row: ValueRow, level: number): string {
  const at = row.change?.reached.find((r) => r.level === level);
  if (!at) return '';
  const bounds = [at.earliest, at.latest].map((time) => (time === null ? '…' : localMinute(time).slice(5)));
  return `${localMinute(at.at).slice(5)} (${bounds.join(' – ')})`;
}

function said({ value, change }: ValueRow): string {
  const took = change?.duration_seconds ? ` and took ${length(change.duration_seconds)} from 10 to 90 %` : '';
  return `${value || 'not known'} is at ${figure(change?.share ?? null, SHARE)} in the last step${took}${change?.fell_back ? ', after it fell back' : ''}`;
}

const COMPOSITION: Report<Schemas['CompositionAnswer']> = {
  kind: 'composition',
  group: 'Releases',
  title: 'Composition and roll-outs',
  question: 'What runs, and how fast do roll-outs progress?',
  needs: 'CPU profiles; filter by an application to see the roll-out of its versions.',
  explain:
    'Shares of a label’s values over time, each with its interval. The time at which a value reached 10, 50 and 90 % is read off the shares made monotone; no shape is assumed, because many roll-outs wait at 1 % for a week. A step without profiles is empty, not 0.',
  section: 'Audits',
  route: '/api/v1/analysis/composition',
  fields: [
    {
      name: 'by',
      label: 'Composition by',
      help: 'A label.',
      initial: 'version',
      choices: ['version', 'kernel', 'platform', 'datacenter', 'application', 'compiler', 'image'].map(
        (value) => ({
          value,
          text: value,
        }),
      ),
    },
    {
      name: 'step',
      label: 'Step',
      help: '',
      initial: '',
      choices: [
        { value: '', text: 'automatic' },
        { value: '1h', text: '1 hour' },
        { value: '6h', text: '6 hours' },
        { value: '1d', text: '1 day' },
      ],
    },
    { name: 'limit', advanced: true, label: 'Values', help: 'At most.', initial: '10' },
  ],
  sentence({ rows, rows_total, by }) {
    const changed = rows.filter((r) => r.change);
    if (changed.length > 0) return `${few(changed.map(said))}.`;
    const [first] = rows;
    if (!first) return 'No value was seen.';
    return `Nothing was rolled out in this range: the largest of ${count(rows_total)} values of ${by} is ${shortPlatform(first.value) || 'not known'} with ${write(first.share, SHARE)}.`;
  },
  chart: ({ rows, times, by }) => ({
    kind: 'shares',
    label: `Shares by ${by} over time`,
    times,
    layers: rows.map((r) => ({ name: shortPlatform(r.value), points: r.points.map((p) => p.share) })),
  }),
  tables: ({ rows, rows_total, by }, links) => [
    {
      label: `By ${by}`,
      rows,
      total: rows_total,
      keyOf: (r: ValueRow) => r.value,
      columns: [
        nameColumn<ValueRow>(
          by,
          (r) => r.value,
          (r) => (by === 'application' ? links.application(r.value) : links.value(by, r.value)),
        ),
        numberColumn<ValueRow>('share of the range', (r) => r.share, SHARE),
        figureColumn<ValueRow>(
          'last step',
          (r) => r.change?.share ?? r.points[r.points.length - 1]?.share ?? null,
          SHARE,
        ),
        textColumn<ValueRow>('10 %', (r) => reachedAt(r, 0.1)),
        textColumn<ValueRow>('50 %', (r) => reachedAt(r, 0.5)),
        textColumn<ValueRow>('90 %', (r) => reachedAt(r, 0.9)),
        textColumn<ValueRow>('note', (r) => (r.change?.fell_back ? 'fell back' : (r.because?.detail ?? ''))),
      ],
    },
  ],
  assumptions: ({ step_seconds, times }) => [`${count(times.length)} steps of ${length(step_seconds)}.`],
};

const LOAD_TEST: Report<Schemas['LoadTestAnswer']> = {
  kind: 'load-test',
  group: 'Releases',
  title: 'Load test',
  question: 'Does a load test run what production runs?',
  needs: 'The selection is the test; the base is production. Without a base, the previous period.',
  explain:
    'The distance between the two profiles means nothing by itself, because production differs from itself too. Random parts of production with as many profiles and samples give that difference. A test further off than 95 % of them is not representative, and the functions that make the difference are named.',
  section: 'Audits',
  route: '/api/v1/analysis/load-test',
  fields: [
    {
      name: 'base_from',
      label: 'Production from',
      help: 'RFC 3339 or now-2d. Empty: the period before the selection.',
      initial: '',
      fallback: (_known, selection, asOf) =>
        earlier(absolute(selection, asOf), 'previous period')?.from ?? '',
      required: true,
    },
    {
      name: 'base_to',
      label: 'Production to',
      help: 'RFC 3339 or now. Empty: the start of the selection.',
      initial: '',
      fallback: (_known, selection, asOf) => earlier(absolute(selection, asOf), 'previous period')?.to ?? '',
      required: true,
    },
    {
      name: 'base_select',
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
      choices: ['function', 'file', 'binary', 'application'].map((value) => ({ value, text: value })),
    },
  ],
  sentence({ representative, matched, floor, p }) {
    const far = `It is ${figure(matched, RATIO)} away from production, where random parts of production are ${figure(floor, RATIO)} away`;
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
            values: [
              { value: r.test_share, lo: null, hi: null },
              { value: r.production_share, lo: null, hi: null },
            ],
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
    {
      label: 'Rows that certainly differ',
      rows,
      total: rows_total,
      keyOf: (r: Schemas['DifferingRow']) => JSON.stringify(r.key),
      columns: [
        textColumn<Schemas['DifferingRow']>('row', (r) => Object.values(r.key)[0] || 'not known'),
        numberColumn<Schemas['DifferingRow']>('test', (r) => r.test_share, FINE_SHARE),
        numberColumn<Schemas['DifferingRow']>('production', (r) => r.production_share, FINE_SHARE),
        figureColumn<Schemas['DifferingRow']>('difference', (r) => r.delta, FINE_SHARE),
      ],
    },
  ],
  assumptions: ({ compared_visits, compared_samples, covered }) => [
    ...(compared_visits === null
      ? []
      : [`Compared ${count(compared_visits)} profiles and ${count(compared_samples ?? 0)} samples of each.`]),
    ...(covered === null
      ? []
      : [`The test ran code that is ${percent(covered, 1)} of production’s samples.`]),
  ],
};

export const RELEASE_REPORTS = [COMPOSITION, LOAD_TEST];
