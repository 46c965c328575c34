/** Composition over time, and the progress of roll-outs. */
import { count } from '../../../selection/numbers.ts';
import { length, localMinute } from '../../../selection/time.ts';
import { figure, write, SHARE } from '../../../views/chart/quantity.ts';
import { few, shortPlatform } from '../phrases.ts';
import { ROWS, choicesOf, table, type Report, type Schemas } from '../report.ts';

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
  return `${value || 'not known'} is at ${figure(change?.share ?? null, SHARE)} in the last step${took}${change?.fell_back ? ', after its share had fallen in between' : ''}`;
}

export const COMPOSITION: Report<Schemas['CompositionAnswer']> = {
  kind: 'composition',
  group: 'Releases',
  title: 'Composition and roll-outs',
  question: 'What runs, and how fast do roll-outs progress?',
  needs: 'CPU profiles; filter by an application to see the roll-out of its versions.',
  explain:
    'Shares of a label’s values over time, each with its interval. The time at which a value reached 10, 50 and 90 % is read off the shares made monotone; no shape is assumed, because many roll-outs wait at 1 % for a week. A step without profiles is empty, not 0.',
  section: 'Audits',
  route: '/api/v1/analysis/composition',
  readsEvent: true,
  fields: [
    {
      name: 'by',
      label: 'Composition by',
      help: 'A label.',
      initial: 'version',
      choices: choicesOf(['version', 'kernel', 'platform', 'datacenter', 'application', 'compiler', 'image']),
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
    { ...ROWS, label: 'Values', initial: '10' },
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
  tables: ({ rows, rows_total, by }) => [
    table({
      label: `By ${by}`,
      rows,
      total: rows_total,
      keyOf: (r) => r.value,
      columns: (c) => [
        c.label(by, (r) => r.value),
        c.number('share of the range', (r) => r.share, SHARE),
        c.figure('last step', (r) => r.change?.share ?? r.points[r.points.length - 1]?.share ?? null, SHARE),
        c.text('10 %', (r) => reachedAt(r, 0.1)),
        c.text('50 %', (r) => reachedAt(r, 0.5)),
        c.text('90 %', (r) => reachedAt(r, 0.9)),
        c.note((r) => (r.change?.fell_back ? 'fell in between' : (r.because?.detail ?? ''))),
      ],
    }),
  ],
  assumptions: ({ step_seconds, times }) => [`${count(times.length)} steps of ${length(step_seconds)}.`],
};
