/** Reports on applications that share chips, and on the events that determine their speed. */
import { count } from '../../../selection/numbers.ts';
import { figure, GIGABYTES, LINES, RATIO, SHARE, write } from '../../../views/chart/quantity.ts';
import { countColumn, nameColumn, numberColumn, textColumn } from '../columns.tsx';
import { all, few } from '../phrases.ts';
import type { Field, Report, Schemas } from '../report.ts';

const target = (what: string): Field => ({
  name: 'target',
  label: 'Application',
  help: `${what} Empty: the one with most CPU time.`,
  initial: '',
  suggest: 'application',
  fallback: ({ application }) => application[0] ?? '',
  required: true,
});

const TRAINING: readonly Field[] = [
  {
    name: 'platform',
    advanced: true,
    label: 'Platform',
    help: 'Of the chips. Empty: the one with most profiles of the application.',
    initial: '',
    suggest: 'platform',
  },
  {
    name: 'peak_gbs',
    advanced: true,
    label: 'Memory’s peak (GB/s)',
    help: 'Of a chip. Empty: measured, or the largest observed.',
    initial: '',
  },
  {
    name: 'experiments',
    advanced: true,
    label: 'Experiments',
    help: 'Uploaded runs that train the model. Empty: the fleet’s profiles.',
    initial: '',
  },
];

function trainedBy({
  trained_by,
  visits,
  runs,
  experiments,
  instead_of_visits,
}: Schemas['Source']): string[] {
  return [
    trained_by === 'visits'
      ? `Trained by ${count(visits)} profiles beside known neighbours.`
      : `Trained by ${count(runs)} runs of the experiments ${experiments ?? ''}.`,
    ...(instead_of_visits ? [`Not by profiles: ${instead_of_visits.detail}`] : []),
  ];
}

function chipOf({ platform, lines, peak_gbs, peak_is_seen }: Schemas['Chip']): string[] {
  if (platform === '') return [];
  return [
    `Chips of ${platform}${lines === '' ? '' : `; cache lines by ${lines}`}${peak_gbs === null ? '' : `; the memory’s peak is ${write(peak_gbs, GIGABYTES)}, ${peak_is_seen ? 'the largest that a profile saw' : 'given or measured'}`}.`,
  ];
}

const INTERFERENCE: Report<Schemas['InterferenceAnswer']> = {
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
        .map((n) => ({ name: n.application, values: [{ value: n.gigabytes, lo: null, hi: null }] })),
    };
  },
  tables: ({ rows, neighbours }, links) => [
    {
      label: 'Pieces of the function',
      rows,
      keyOf: (r: Schemas['PieceRow']) => r.piece,
      columns: [
        textColumn<Schemas['PieceRow']>('piece', (r) => r.piece),
        countColumn<Schemas['PieceRow']>('mixes', (r) => r.mixes),
        numberColumn<Schemas['PieceRow']>('mean slowdown', (r) => r.intercept, SHARE),
        numberColumn<Schemas['PieceRow']>(
          'by cache lines',
          (r) => r.cache,
          SHARE,
          'For one standard deviation more.',
        ),
        numberColumn<Schemas['PieceRow']>(
          'by bandwidth',
          (r) => r.bandwidth,
          SHARE,
          'For one standard deviation more.',
        ),
        numberColumn<Schemas['PieceRow']>('R²', (r) => r.r2, RATIO),
        textColumn<Schemas['PieceRow']>(
          'note',
          (r) => r.because?.detail ?? (r.outliers > 0 ? `${r.outliers} outliers left out` : ''),
        ),
      ],
    },
    {
      label: 'Applications alone on a chip',
      rows: neighbours,
      keyOf: (r: Schemas['SoloRow']) => r.application,
      columns: [
        nameColumn<Schemas['SoloRow']>(
          'application',
          (r) => r.application,
          (r) => links.application(r.application),
        ),
        numberColumn<Schemas['SoloRow']>('cache lines', (r) => r.lines, LINES),
        numberColumn<Schemas['SoloRow']>('bandwidth', (r) => r.gigabytes, GIGABYTES),
        numberColumn<Schemas['SoloRow']>('CPI', (r) => r.cpi, RATIO),
        countColumn<Schemas['SoloRow']>('profiles', (r) => r.visits),
      ],
    },
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

const EXPERIMENTS = [
  {
    text: 'Or measure the application alone and beside others, and upload the runs:',
    command: 'fleetprof experiments add RUNS.csv',
  },
];

const PLACEMENT: Report<Schemas['PlacementAnswer']> = {
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
    },
    { name: 'machines', label: 'Machines', help: 'Number of machines.', initial: '2', required: true },
    { name: 'slots', label: 'Programs on a machine', help: 'At most.', initial: '2' },
    {
      name: 'cautious',
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
      values: [r.degradation === null ? null : { value: r.degradation, lo: null, hi: null }],
    })),
  }),
  tables: ({ rows }, links) => [
    {
      label: 'Programs',
      rows: rows.map((row, number) => ({ ...row, number: number + 1 })),
      keyOf: (r: Placed) => String(r.number),
      columns: [
        countColumn<Placed>('program', (r) => r.number),
        nameColumn<Placed>(
          'application',
          (r) => r.application,
          (r) => links.application(r.application),
        ),
        countColumn<Placed>('machine', (r) => (r.machine === null ? null : r.machine + 1)),
        numberColumn<Placed>('slowdown', (r) => r.degradation, SHARE),
        numberColumn<Placed>('limit', (r) => r.most, SHARE),
        textColumn<Placed>('note', (r) => r.because?.detail ?? (r.kept === false ? 'limit not kept' : '')),
      ],
    },
  ],
  assumptions: ({ source, chip }) => [...trainedBy(source), ...chipOf(chip)],
  missing: ({ because }) => (because ? EXPERIMENTS : []),
};

type Placed = Schemas['PlacedRow'] & { number: number };

const EVENTS: Report<Schemas['EventsAnswer']> = {
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
    rows: rows
      .slice(0, 15)
      .map((r) => ({ name: r.event, values: [{ value: r.importance, lo: null, hi: null }] })),
  }),
  tables: ({ rows, rows_total, pairs }) => [
    {
      label: 'Events',
      rows,
      total: rows_total,
      keyOf: (r: Schemas['EventRow']) => r.event,
      columns: [
        textColumn<Schemas['EventRow']>('event', (r) => r.event),
        numberColumn<Schemas['EventRow']>('importance', (r) => r.importance, SHARE),
        numberColumn<Schemas['EventRow']>(
          'counted in',
          (r) => r.counted,
          SHARE,
          'Share of the intervals in which it was counted.',
        ),
        textColumn<Schemas['EventRow']>('note', (r) => (r.dominates ? 'dominates' : '')),
      ],
    },
    {
      label: 'Settings and events',
      rows: pairs.slice(0, 12),
      total: pairs.length,
      keyOf: (r: Schemas['CoupledPair']) => JSON.stringify([r.parameter, r.event]),
      columns: [
        textColumn<Schemas['CoupledPair']>('setting', (r) => r.parameter),
        textColumn<Schemas['CoupledPair']>('event', (r) => r.event),
        numberColumn<Schemas['CoupledPair']>('coupling', (r) => r.coupling, SHARE),
        numberColumn<Schemas['CoupledPair']>('dependence', (r) => r.dependence, SHARE),
        textColumn<Schemas['CoupledPair']>('verdict', (r) => (r.significant ? 'certain' : 'may be chance')),
      ],
    },
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

export const INTERFERENCE_REPORTS = [INTERFERENCE, PLACEMENT, EVENTS];
