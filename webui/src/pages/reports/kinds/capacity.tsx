/** Reports on the capacity of machines whose cores have two threads. */
import { count } from '../../../selection/numbers.ts';
import { absolute } from '../../../selection/time.ts';
import { figure, NUMBER, RATIO, REQUESTS, SHARE, write } from '../../../views/chart/quantity.ts';
import { countColumn, figureColumn, nameColumn, numberColumn, textColumn } from '../columns.tsx';
import { all, few, shortPlatform } from '../phrases.ts';
import type { Field, Remedy, Report, Schemas, Used } from '../report.ts';
import { hourly } from '../steps.ts';

/** An overlap coefficient in the middle of what platforms have; the answer names it as assumed. */
const ASSUMED = '1.4';

const COEFFICIENT: Field = {
  name: 'coefficient',
  label: 'Assumed overlap coefficient',
  help: 'For platforms without a measured one, 1 to 10. Empty: leave these platforms out.',
  initial: ASSUMED,
};

function assumedOf(used: Used): string {
  const { coefficient } = used;
  return coefficient
    ? ` Platforms without a measured overlap coefficient are assumed to have ${coefficient}.`
    : '';
}

/** The answer lists measured coefficients only. */
function calibration(
  { coefficients }: { coefficients: readonly Schemas['Coefficient'][] },
  used: Used,
): Remedy[] {
  if (!used['coefficient'] || coefficients.some((c) => c.measured)) return [];
  return [
    {
      text: 'No coefficient is measured. Measure it on a quiet machine (HOST) of each platform:',
      command: 'fleetprof calibrate smt HOST',
    },
  ];
}

const APU: Report<Schemas['ApuAnswer']> = {
  kind: 'apu',
  group: 'Capacity',
  title: 'Used capacity (APU)',
  question: 'How much capacity is used in cores with two threads?',
  needs: 'An overlap coefficient for each platform: fleetprof calibrate smt.',
  explain:
    'A thread runs more slowly while the other thread of its core is busy, so CPU utilisation is not the used part of the capacity. APU counts a core with one busy thread as OC ÷ 2 used, where the overlap coefficient OC is the CPU time of the same work with both threads busy, divided by the time with one. It uses cycle counters where the campaign counts them, and the operating systems’ times elsewhere.',
  section: 'Cores with two threads: APU',
  route: '/api/v1/analysis/apu',
  fields: [
    {
      name: 'by',
      label: 'One row for each',
      help: 'Machines with the same value are one row.',
      initial: 'platform',
      choices: ['platform', 'datacenter', 'cluster', 'kernel', 'machine', 'application'].map((value) => ({
        value,
        text: value,
      })),
    },
    COEFFICIENT,
  ],
  sentence({ by, rows }, used) {
    const said =
      by === 'application'
        ? rows.map(
            (r) =>
              `${r.value} uses ${figure(r.per_cpu_second, RATIO)} core-seconds of capacity for a second of CPU time`,
          )
        : rows.map((r) => `${shortPlatform(r.value)}: ${figure(r.apu, SHARE)} of the capacity is used`);
    return `${few(said)}.${assumedOf(used)}`;
  },
  naive({ by, rows }) {
    const [first] = rows;
    if (by === 'application' || !first?.apu || !first.utilisation) return null;
    const room = (used: number): string => `${count(100 * (1 / used - 1))} %`;
    return `CPU utilisation says ${figure(first.utilisation, SHARE)} for ${shortPlatform(first.value)}. By APU there is room for ${room(first.apu.value)} more work there; utilisation promises ${room(first.utilisation.value)}.`;
  },
  chart({ by, rows }) {
    if (rows.length === 0) return null;
    const shown = rows.slice(0, 15);
    if (by === 'application')
      return {
        kind: 'bars',
        label: 'Capacity for a second of CPU time',
        unit: RATIO,
        series: ['core-seconds'],
        rows: shown.map((r) => ({ name: r.value, values: [r.per_cpu_second] })),
      };
    return {
      kind: 'bars',
      label: 'Used capacity',
      unit: SHARE,
      series: ['APU', 'CPU utilisation'],
      rows: shown.map((r) => ({ name: shortPlatform(r.value), values: [r.apu, r.utilisation] })),
    };
  },
  tables({ by, rows }, links) {
    const application = by === 'application';
    return [
      {
        label: `By ${by}`,
        rows,
        keyOf: (r: Schemas['ApuRow']) => r.value,
        columns: [
          nameColumn<Schemas['ApuRow']>(
            by,
            (r) => r.value,
            (r) => (application ? links.application(r.value) : links.value(by, r.value)),
          ),
          ...(application
            ? [
                numberColumn<Schemas['ApuRow']>('core-seconds', (r) => r.core_seconds, NUMBER),
                figureColumn<Schemas['ApuRow']>('per CPU second', (r) => r.per_cpu_second, RATIO),
                figureColumn<Schemas['ApuRow']>('by counters', (r) => r.hardware_per_cpu_second, RATIO),
              ]
            : [
                figureColumn<Schemas['ApuRow']>(
                  'APU',
                  (r) => r.apu,
                  SHARE,
                  'By the operating systems’ times.',
                ),
                figureColumn<Schemas['ApuRow']>(
                  'utilisation',
                  (r) => r.utilisation,
                  SHARE,
                  'Of logical CPUs.',
                ),
                figureColumn<Schemas['ApuRow']>(
                  'any thread',
                  (r) => r.thread_any,
                  SHARE,
                  'Core-time with any thread busy.',
                ),
                figureColumn<Schemas['ApuRow']>(
                  'simplified',
                  (r) => r.simplified,
                  SHARE,
                  'From mean utilisation alone.',
                ),
                figureColumn<Schemas['ApuRow']>('by counters', (r) => r.hardware?.apu ?? null, SHARE),
              ]),
          countColumn<Schemas['ApuRow']>('profiles', (r) => r.visits),
          countColumn<Schemas['ApuRow']>('machines', (r) => r.machines),
        ],
      },
    ];
  },
  missing: (answer, _links, used) => calibration(answer, used),
  assumptions: ({ hardware_because, hardware_used }) => [
    `${count(hardware_used)} profiles also have an APU by cycle counters.`,
    ...(hardware_because ? [hardware_because.detail] : []),
  ],
};

const CAPACITY: Report<Schemas['CapacityAnswer']> = {
  kind: 'capacity',
  group: 'Capacity',
  title: 'Capacity forecast',
  question: 'How many requests can these machines serve?',
  needs: 'The request rate of each hour, from your monitoring, and an overlap coefficient.',
  explain:
    'The load of the machines is fitted on the request rate and extended to the load at which they are full, by APU and, for comparison, by CPU utilisation, which underestimates the load of cores with two threads and therefore promises too many requests.',
  section: 'Cores with two threads: APU',
  route: '/api/v1/analysis/capacity',
  fields: [
    {
      name: 'rates',
      label: 'Requests per second',
      help: 'Of all these machines together: the mean of each step in order, separated by commas, such as 812,,640. Leave unknown steps empty.',
      initial: '',
      fallback: (_known, place, asOf) => unknownRates(absolute(place, asOf), String(place['step'])),
      wide: true,
    },
    { name: 'step', label: 'Length of a step', help: 'Counted from midnight UTC: 1h, 10m.', initial: '1h' },
    {
      name: 'full',
      advanced: true,
      label: 'Full at',
      help: 'Load at which no more requests are served, 0 to 1.',
      initial: '1',
    },
    COEFFICIENT,
  ],
  // The load of each step is an answer, too.
  because: ({ because, rows }) => (rows.length === 0 ? because : null),
  sentence({ by_apu, by_hardware, rows }, used) {
    const best = by_hardware.limit ? by_hardware : by_apu;
    if (best.limit)
      return `These machines serve ${figure(best.limit, REQUESTS)}, by APU${best.curved ? '; but the points bend, so the limit is not reliable' : ''}.${assumedOf(used)}`;
    const loads = rows.flatMap((r) => (r.apu ? [r.apu.value] : []));
    if (loads.length === 0) return by_apu.because?.detail ?? 'No step has a load.';
    return `The load is between ${write(Math.min(...loads), SHARE)} and ${write(Math.max(...loads), SHARE)} by APU; with request rates this report says how many requests the machines can serve.${assumedOf(used)}`;
  },
  naive: ({ by_utilisation }) =>
    by_utilisation.limit ? `CPU utilisation promises ${figure(by_utilisation.limit, REQUESTS)}.` : null,
  chart({ rows, by_apu, by_utilisation, full }) {
    const rated = rows.some((r) => r.rate !== null);
    if (!rated) {
      const points = (of: (r: Schemas['StepRow']) => Schemas['Figure'] | null) =>
        rows.flatMap((r) => {
          const load = of(r);
          return load ? [{ x: Date.parse(r.from), ...load }] : [];
        });
      return {
        kind: 'lines',
        label: 'Load over time',
        over: 'time',
        of: 'load',
        unit: SHARE,
        ...hourly(rows.map((r) => r.from)),
        lines: [
          { name: 'APU', as: 'line', points: points((r) => r.apu) },
          { name: 'CPU utilisation', as: 'line', points: points((r) => r.utilisation) },
        ],
      };
    }
    const at = (of: (r: Schemas['StepRow']) => Schemas['Figure'] | null) =>
      rows.flatMap((r) => {
        const load = of(r);
        return load && r.rate !== null ? [{ x: r.rate, ...load }] : [];
      });
    const end = Math.max(
      ...rows.map((r) => r.rate ?? 0),
      by_apu.limit?.value ?? 0,
      by_utilisation.limit?.value ?? 0,
    );
    const fit = ({ slope, intercept }: Schemas['ForecastAnswer']) =>
      slope === null || intercept === null
        ? []
        : [0, end].map((x) => ({ x, value: intercept + slope * x, lo: null, hi: null }));
    return {
      kind: 'lines',
      label: 'Load by request rate',
      over: 'requests per second',
      of: 'load',
      xUnit: NUMBER,
      unit: SHARE,
      limit: { value: full, name: 'full' },
      lines: [
        { name: 'APU', as: 'points', points: at((r) => r.apu) },
        { name: 'CPU utilisation', as: 'points', points: at((r) => r.utilisation) },
        { name: 'fit of APU', as: 'naive', points: fit(by_apu) },
        { name: 'fit of utilisation', as: 'naive', points: fit(by_utilisation) },
      ],
    };
  },
  tables: ({ rows }) => [
    {
      label: 'By step',
      rows,
      keyOf: (r: Schemas['StepRow']) => r.from,
      columns: [
        textColumn<Schemas['StepRow']>('from', (r) => r.from.replace('T', ' ').replace('Z', ' UTC')),
        numberColumn<Schemas['StepRow']>('requests/s', (r) => r.rate, NUMBER),
        figureColumn<Schemas['StepRow']>('APU', (r) => r.apu, SHARE),
        figureColumn<Schemas['StepRow']>('utilisation', (r) => r.utilisation, SHARE),
        figureColumn<Schemas['StepRow']>('APU by counters', (r) => r.hardware_apu, SHARE),
        countColumn<Schemas['StepRow']>('profiles', (r) => r.visits),
      ],
    },
  ],
  assumptions: ({ by_apu, by_utilisation, by_hardware }) =>
    (
      [
        ['APU', by_apu],
        ['utilisation', by_utilisation],
        ['APU by counters', by_hardware],
      ] as const
    ).map(([name, f]) =>
      f.limit
        ? `${name}: ${count(f.observations ?? 0)} observations, R² ${write(f.r2 ?? 0, RATIO)}; the largest observed rate is ${write(f.reach ?? 0, SHARE)} of the limit.`
        : `${name}: ${f.because?.detail ?? 'no forecast.'}`,
    ),
  missing: (answer, _links, used) =>
    answer.by_apu.limit
      ? calibration(answer, used)
      : [
          ...calibration(answer, used),
          {
            text: 'Give the request rates of at least 8 steps above, or let the command read them from Prometheus:',
            command: 'fleetprof report capacity --help',
          },
        ],
};

/** The longest range whose steps are filled in; more would not fit into a URL. */
const MOST_STEPS = 400;

/** As many unknown rates as the range has steps, so that the answer has the load of each. */
export function unknownRates(range: { from: string; to: string }, step: string): string {
  const [, digits, unit] = /^(\d+)([smhd])$/.exec(step) ?? [];
  const seconds = Number(digits) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit as 's'] ?? NaN);
  const from = Math.floor(Date.parse(range.from) / 1000 / seconds);
  const to = Math.ceil(Date.parse(range.to) / 1000 / seconds);
  const steps = to - from;
  return steps > 1 && steps <= MOST_STEPS ? ','.repeat(steps - 1) : '';
}

const MACHINE_TYPES: Report<Schemas['MachineTypesAnswer']> = {
  kind: 'machine-types',
  group: 'Capacity',
  title: 'Machine types',
  question: 'Is a new machine type worth its price?',
  needs: 'Both platforms in the selection, their prices, and overlap coefficients.',
  explain:
    'At equal load, the ratio of the loads is the number of old machines that one new machine replaces. The new type pays off if that ratio exceeds the ratio of the prices. Utilisation and APU may disagree, because the types use their second threads differently; then a stress test must decide.',
  section: 'Cores with two threads: APU',
  route: '/api/v1/analysis/machine-types',
  fields: [
    {
      name: 'old',
      label: 'Old platform',
      help: 'Empty: the platform with most CPU time.',
      initial: '',
      suggest: 'platform',
      fallback: ({ platform }) => platform[0] ?? '',
      required: true,
    },
    {
      name: 'new',
      label: 'New platform',
      help: 'Empty: the platform with the second most CPU time.',
      initial: '',
      suggest: 'platform',
      fallback: ({ platform }) => platform[1] ?? '',
      required: true,
    },
    {
      name: 'old_price',
      label: 'Old price',
      help: 'Of a machine, in any currency.',
      initial: '1',
      required: true,
    },
    { name: 'new_price', label: 'New price', help: 'In the same currency.', initial: '1', required: true },
    COEFFICIENT,
    {
      name: 'old_rates',
      advanced: true,
      label: 'Old request rates',
      help: 'Requests per second of one machine by step. Empty: equal traffic is assumed.',
      initial: '',
    },
    {
      name: 'new_rates',
      advanced: true,
      label: 'New request rates',
      help: 'Likewise, for the new type.',
      initial: '',
    },
  ],
  sentence({ apu_ratio, price_ratio, by_apu, stress_test, rows }, used) {
    if (!apu_ratio) return 'There is no figure by APU.';
    const [old, fresh] = rows.map((r) => shortPlatform(r.platform));
    const verdict =
      by_apu === 'unclear'
        ? 'the interval contains the ratio of the prices, so it is unclear which type is cheaper'
        : `the ${by_apu} type costs less for the same work`;
    return `By APU, one ${fresh ?? 'new machine'} replaces ${figure(apu_ratio, RATIO)} of ${old ?? 'the old type'} at ${write(price_ratio ?? 1, RATIO)} times the price: ${verdict}.${stress_test ? ' A stress test must decide.' : ''}${assumedOf(used)}`;
  },
  naive: ({ utilisation_ratio, by_utilisation }) =>
    utilisation_ratio
      ? `CPU utilisation says ${figure(utilisation_ratio, RATIO)}: ${by_utilisation === 'unclear' ? 'unclear' : `the ${by_utilisation} type`}.`
      : null,
  chart: ({ rows }) =>
    rows.length === 0
      ? null
      : {
          kind: 'bars',
          label: 'Load of each type',
          unit: SHARE,
          series: ['APU', 'CPU utilisation'],
          rows: rows.map((r) => ({ name: shortPlatform(r.platform), values: [r.apu, r.utilisation] })),
        },
  tables: ({ rows }, links) => [
    {
      label: 'The two types',
      rows,
      keyOf: (r: Schemas['TypeRow']) => r.platform,
      columns: [
        nameColumn<Schemas['TypeRow']>(
          'platform',
          (r) => r.platform,
          (r) => links.value('platform', r.platform),
        ),
        numberColumn<Schemas['TypeRow']>('price', (r) => r.price, NUMBER),
        figureColumn<Schemas['TypeRow']>('APU', (r) => r.apu, SHARE),
        figureColumn<Schemas['TypeRow']>('utilisation', (r) => r.utilisation, SHARE),
        figureColumn<Schemas['TypeRow']>('requests/s by APU', (r) => r.by_apu?.rate ?? null, NUMBER),
        figureColumn<Schemas['TypeRow']>(
          'requests/s by utilisation',
          (r) => r.by_utilisation?.rate ?? null,
          NUMBER,
        ),
        countColumn<Schemas['TypeRow']>('profiles', (r) => r.visits),
        countColumn<Schemas['TypeRow']>('machines', (r) => r.machines),
      ],
    },
  ],
  missing: (answer, _links, used) => calibration(answer, used),
  assumptions: ({ basis, apu_basis, apu_because, utilisation_because }) => [
    basis === 'equal_traffic'
      ? 'Both types are assumed to get equally many requests per machine.'
      : 'The types are compared at equal load by their request rates.',
    ...(apu_basis
      ? [`APU is by ${all([apu_basis === 'counters' ? 'cycle counters' : 'the operating systems’ times'])}.`]
      : []),
    ...[apu_because, utilisation_because].flatMap((because) => (because ? [because.detail] : [])),
  ],
};

export const CAPACITY_REPORTS = [APU, CAPACITY, MACHINE_TYPES];
