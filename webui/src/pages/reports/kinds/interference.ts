/** Slowdowns by neighbours on a chip. */
import { count } from '../../../selection/numbers.ts';
import { exact } from '../../../estimates/interval.ts';
import { figure, write, RATIO, SHARE, GIGABYTES, LINES } from '../../../views/chart/quantity.ts';
import { table, type Report, type Schemas } from '../report.ts';
import { chipOf, EXPERIMENTS, target, trainedBy, TRAINING } from './chips.ts';

export const INTERFERENCE: Report<Schemas['InterferenceAnswer']> = {
  kind: 'interference',
  group: 'Interference',
  title: 'Interference',
  question: 'How much slower does an application run beside others on its chip?',
  needs: 'Counted control groups on machines of one socket, or uploaded experiments.',
  explain:
    'A program’s slowdown beside others is a function of the total pressure of all of them on the chip: lines into the shared cache and memory bandwidth. The function has three linear pieces, cut at 25 and 75 % of the memory’s peak. It is trained by the fleet’s own profiles: alone on a chip, and beside others.',
  section: 'Interference',
  route: '/api/v1/analysis/interference',
  fields: [
    target('Its slowdown is predicted.'),
    {
      name: 'beside',
      label: 'Beside',
      help: 'A mix to predict: neighbours and the cores that each keeps busy, feed:4,etl:1.5.',
      initial: '',
      fallback: ({ application }) => (application[2] ? `${application[2]}:4` : ''),
    },
    {
      name: 'cores',
      advanced: true,
      label: 'Its own cores',
      help: 'That it keeps busy in the mix. Empty: its average.',
      initial: '',
    },
    ...TRAINING,
  ],
  sentence({ target: name, mix, baseline, mixes }, used) {
    if (mix?.degradation)
      return `Beside ${used['beside'] ?? 'this mix'} ${name} takes ${figure(mix.degradation, SHARE)} longer${mix.extrapolated ? '; no profile had such pressure, so this is extrapolated' : ''}.`;
    return `In ${count(mixes)} profiles beside others ${name} takes ${baseline === null ? 'an unknown time' : write(baseline, SHARE)} longer on average.${mix?.because ? ` For the mix there is no prediction: ${mix.because.detail}` : ''}`;
  },
  naive: ({ baseline, error, baseline_error }) =>
    baseline === null
      ? null
      : `The mean of all mixes, regardless of pressure, is ${write(baseline, SHARE)}.${error === null || baseline_error === null ? '' : ` On the same mixes the function is ${write(100 * error, POINTS)} off on average, the mean ${write(100 * baseline_error, POINTS)}.`}`,
  chart({ neighbours, solo }) {
    const all = [...(solo ? [solo] : []), ...neighbours.filter((n) => n.application !== solo?.application)];
    if (all.length === 0) return null;
    return {
      kind: 'bars',
      label: 'Memory traffic of a busy core',
      unit: GIGABYTES,
      series: ['GB per CPU second'],
      rows: all
        .toSorted((a, b) => b.gigabytes - a.gigabytes)
        .slice(0, 15)
        .map((n) => ({ name: n.application, values: [exact(n.gigabytes)] })),
    };
  },
  tables: ({ rows, neighbours }) => [
    table({
      label: 'Pieces of the function',
      rows,
      keyOf: (r) => r.piece,
      columns: (c) => [
        c.text('piece', (r) => r.piece),
        c.count('mixes', (r) => r.mixes),
        c.number('mean slowdown', (r) => r.intercept, SHARE),
        c.number('by cache lines', (r) => r.cache, SHARE, 'For one standard deviation more.'),
        c.number('by bandwidth', (r) => r.bandwidth, SHARE, 'For one standard deviation more.'),
        c.number('R²', (r) => r.r2, RATIO),
        c.note((r) => r.because?.detail ?? (r.outliers > 0 ? `${r.outliers} outliers left out` : '')),
      ],
    }),
    table({
      label: 'Applications alone on a chip',
      rows: neighbours,
      keyOf: (r) => r.application,
      columns: (c) => [
        c.application((r) => r.application),
        c.number('cache lines', (r) => r.lines, LINES),
        c.number('bandwidth', (r) => r.gigabytes, GIGABYTES),
        c.number('CPI', (r) => r.cpi, RATIO),
        c.count('profiles', (r) => r.visits),
      ],
    }),
  ],
  assumptions: ({ source, chip, unknown_neighbour_visits }) => [
    ...trainedBy(source),
    ...chipOf(chip),
    ...(unknown_neighbour_visits > 0
      ? [`${count(unknown_neighbour_visits)} profiles beside applications of unknown pressure are left out.`]
      : []),
  ],
  missing: ({ because }) => (because ? EXPERIMENTS : []),
};

const POINTS = { digits: (v: number) => v.toFixed(1), suffix: ' points' };
