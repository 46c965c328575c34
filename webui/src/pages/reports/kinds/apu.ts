/** Used capacity of machines whose cores have two threads. */
import { count } from '../../../selection/numbers.ts';
import { figure, NUMBER, RATIO, SHARE } from '../../../views/chart/quantity.ts';
import { few, shortPlatform } from '../phrases.ts';
import { choicesOf, table, type Report, type Schemas } from '../report.ts';
import { COEFFICIENT, assumedOf, calibration } from './coefficient.ts';

export const APU: Report<Schemas['ApuAnswer']> = {
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
      choices: choicesOf(['platform', 'datacenter', 'cluster', 'kernel', 'machine', 'application']),
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
        : rows.map((r) => `${shortPlatform(r.value) || 'not known'}: ${figure(r.apu, SHARE)}`);
    return `${by === 'application' ? '' : 'Used capacity of '}${few(said)}.${assumedOf(used)}`;
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
  tables({ by, rows }) {
    const application = by === 'application';
    return [
      table({
        label: `By ${by}`,
        rows,
        keyOf: (r) => r.value,
        columns: (c) => [
          c.label(by, (r) => r.value),
          ...(application
            ? [
                c.number('core-seconds', (r) => r.core_seconds, NUMBER),
                c.figure('per CPU second', (r) => r.per_cpu_second, RATIO),
                c.figure('by counters', (r) => r.hardware_per_cpu_second, RATIO),
              ]
            : [
                c.figure('APU', (r) => r.apu, SHARE, 'By the operating systems’ times.'),
                c.figure('utilisation', (r) => r.utilisation, SHARE, 'Of logical CPUs.'),
                c.figure('any thread', (r) => r.thread_any, SHARE, 'Core-time with any thread busy.'),
                c.figure('simplified', (r) => r.simplified, SHARE, 'From mean utilisation alone.'),
                c.figure('by counters', (r) => r.hardware?.apu ?? null, SHARE),
              ]),
          c.count('profiles', (r) => r.visits),
          c.count('machines', (r) => r.machines),
        ],
      }),
    ];
  },
  missing: (answer, _links, used) => calibration(answer, used),
  assumptions: ({ hardware_because, hardware_used }) => [
    `${count(hardware_used)} profiles also have an APU by cycle counters.`,
    ...(hardware_because ? [hardware_because.detail] : []),
  ],
};
