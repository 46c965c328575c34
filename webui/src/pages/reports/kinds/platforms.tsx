/** Reports on counters, and on applications on platforms. */
import { count } from '../../../selection/numbers.ts';
import { figure, FINE_SHARE, NUMBER, RATIO, SHARE, write } from '../../../views/chart/quantity.ts';
import type { Line } from '../../../views/chart/LineChart.tsx';
import { countColumn, figureColumn, nameColumn, numberColumn, textColumn } from '../columns.tsx';
import { few, shortPlatform } from '../phrases.ts';
import type { Field, Links, Report, Schemas } from '../report.ts';
import { hourly } from '../steps.ts';

const RATIOS_NAMED: readonly [string, string][] = [
  ['cpi', 'cycles per instruction (CPI)'],
  ['llc-mpki', 'misses of the last cache per 1000 instructions'],
  ['llc-miss-ratio', 'misses per reference of the last cache'],
  ['branch-mpki', 'branch misses per 1000 instructions'],
  ['branch-miss-ratio', 'misses per branch'],
  ['stall-ratio', 'stalled cycles per cycle'],
  ['relative-frequency', 'frequency relative to the nominal one'],
  ['frequency', 'frequency'],
];

function nameOf(key: Readonly<Record<string, string>>): string {
  const values = Object.entries(key).map(([label, value]) =>
    label === 'platform' ? shortPlatform(value) : value,
  );
  return values.join(', ') || 'everything';
}

function hrefOf(key: Readonly<Record<string, string>>, links: Links): string | null {
  const [label] = Object.keys(key);
  if (label === undefined) return null;
  return label === 'application' ? links.application(key[label]) : links.value(label, key[label]);
}

const LINES = 5;
const BARS = 20;

const RATIOS: Report<Schemas['RatioAnswer']> = {
  kind: 'ratios',
  group: 'Platforms',
  title: 'CPI and other ratios',
  question: 'How many cycles does an instruction take, and where?',
  needs: 'Counters; by application also counted control groups (--cgroups).',
  explain:
    'A ratio of two counters, summed over the profiles and weighted for the fleet; never a mean of ratios. CPI rises where instructions wait, for memory above all. Other ratios say for what.',
  section: 'Ratios: CPI and other derived metrics',
  route: '/api/v1/analysis/ratios',
  fields: [
    {
      name: 'ratio',
      label: 'Ratio',
      help: 'Or in the URL two counters, such as llc-misses/instructions.',
      initial: 'cpi',
      choices: RATIOS_NAMED.map(([value, text]) => ({ value, text })),
    },
    {
      name: 'by',
      label: 'One row for each',
      help: '',
      initial: 'application',
      choices: [
        'application',
        'platform',
        'application,platform',
        'datacenter',
        'cluster',
        'kernel',
        'machine',
      ].map((value) => ({ value, text: value.replace(',', ' and ') })),
    },
    {
      name: 'step',
      label: 'Over time',
      help: '',
      initial: '',
      choices: [
        { value: '', text: 'the whole range' },
        { value: '1h', text: 'by hour' },
        { value: '6h', text: 'by 6 hours' },
        { value: '1d', text: 'by day' },
      ],
    },
    { name: 'limit', advanced: true, label: 'Rows', help: 'At most.', initial: '100' },
  ],
  sentence({ rows, unit }) {
    const known = rows.filter((r) => r.ratio);
    if (known.length === 0) return 'No row has both counters.';
    return `In ${unit}: ${few(known.map((r) => `${nameOf(r.key)} ${figure(r.ratio, RATIO)}`))}.`;
  },
  chart({ rows, ratio, unit, step_seconds }) {
    if (step_seconds === 0)
      return {
        kind: 'bars',
        label: unit,
        unit: RATIO,
        series: [ratio],
        rows: rows.slice(0, BARS).map((r) => ({ name: nameOf(r.key), values: [r.ratio] })),
      };
    const names = [...new Set(rows.map((r) => nameOf(r.key)))].slice(0, LINES);
    const lines: Line[] = names.map((name) => ({
      name,
      as: 'line',
      points: rows.flatMap((r) =>
        nameOf(r.key) === name && r.ratio && r.from ? [{ x: Date.parse(r.from), ...r.ratio }] : [],
      ),
    }));
    return {
      kind: 'lines',
      label: `${unit} over time`,
      over: 'time',
      of: unit,
      unit: RATIO,
      ...hourly(rows.flatMap((r) => r.from ?? [])),
      lines,
    };
  },
  tables: ({ rows, rows_total, ratio, step_seconds }, links) => [
    {
      label: ratio,
      rows,
      total: rows_total,
      keyOf: (r: Schemas['RatioRow']) => JSON.stringify([r.key, r.from]),
      columns: [
        nameColumn<Schemas['RatioRow']>(
          'name',
          (r) => nameOf(r.key),
          (r) => hrefOf(r.key, links),
        ),
        ...(step_seconds > 0 ? [textColumn<Schemas['RatioRow']>('from', (r) => r.from ?? '')] : []),
        figureColumn<Schemas['RatioRow']>('ratio', (r) => r.ratio, RATIO),
        numberColumn<Schemas['RatioRow']>('numerator', (r) => r.numerator, NUMBER),
        numberColumn<Schemas['RatioRow']>('denominator', (r) => r.denominator, NUMBER),
        countColumn<Schemas['RatioRow']>('profiles', (r) => r.visits),
        countColumn<Schemas['RatioRow']>('machines', (r) => r.machines),
      ],
    },
  ],
  assumptions: () => ['Numerator and denominator stand for what was counted, not for the whole fleet.'],
};

export const PLATFORM_FIELDS: readonly Field[] = [
  {
    name: 'first',
    label: 'First platform',
    help: 'Empty: the platform with most CPU time.',
    initial: '',
    suggest: 'platform',
    fallback: ({ platform }) => platform[0] ?? '',
    required: true,
  },
  {
    name: 'second',
    label: 'Second platform',
    help: 'Empty: the platform with the second most CPU time.',
    initial: '',
    suggest: 'platform',
    fallback: ({ platform }) => platform[1] ?? '',
    required: true,
  },
];

const SIDE_BY_SIDE: Report<Schemas['SideAnswer']> = {
  kind: 'side-by-side',
  group: 'Platforms',
  title: 'Two platforms',
  question: 'How do two platforms run the same work, counter by counter?',
  needs: 'Counters on both platforms; filter by an application to compare the same work.',
  explain:
    'Each ratio of counters on both platforms, and the quotient second ÷ first with its interval. A quotient is marked if its interval excludes 1. Figures that certainly differ at least tenfold may count different things under one name.',
  section: 'Audits',
  route: '/api/v1/analysis/side-by-side',
  fields: PLATFORM_FIELDS,
  sentence({ rows, first, second }) {
    const cpi = rows.find((r) => r.name === 'cpi');
    const sure = rows.filter((r) => r.significant).length;
    const said = cpi?.factor
      ? `An instruction takes ${figure(cpi.factor, RATIO)} times as many cycles on ${shortPlatform(second)} as on ${shortPlatform(first)}`
      : `${shortPlatform(second)} against ${shortPlatform(first)}`;
    return `${said}; ${sure} of ${rows.length} figures certainly differ.`;
  },
  chart: ({ rows }) => ({
    kind: 'bars',
    label: 'Second platform ÷ first platform',
    unit: RATIO,
    series: ['quotient'],
    reference: { value: 1, name: 'equal' },
    // A quotient of ten and more would leave no room for the others; the table has it.
    rows: rows
      .filter((r) => r.factor && !r.suspect && r.factor.value < 10)
      .map((r) => ({ name: r.name, values: [r.factor] })),
  }),
  tables: ({ rows, first, second }) => [
    {
      label: 'Counter by counter',
      rows,
      keyOf: (r: Schemas['SideRow']) => r.name,
      columns: [
        textColumn<Schemas['SideRow']>('figure', (r) => r.name),
        figureColumn<Schemas['SideRow']>(shortPlatform(first), (r) => r.first, NUMBER),
        figureColumn<Schemas['SideRow']>(shortPlatform(second), (r) => r.second, NUMBER),
        figureColumn<Schemas['SideRow']>('quotient', (r) => r.factor, RATIO),
        textColumn<Schemas['SideRow']>('verdict', (r) =>
          r.suspect ? 'may count different things' : r.significant ? 'differs' : 'no certain difference',
        ),
        textColumn<Schemas['SideRow']>('unit', (r) => r.unit),
      ],
    },
  ],
  assumptions: ({ interval_level }) => [
    `Intervals of quotients have the level ${write(interval_level, FINE_SHARE)}, because many figures are compared at once.`,
  ],
};

/** Pairs of an application and a platform that the table has. */
const PAIRS = 40;

const AFFINITY: Report<Schemas['AffinityAnswer']> = {
  kind: 'affinity',
  group: 'Platforms',
  title: 'Platform affinity',
  question: 'Which applications should run on which platform?',
  needs: 'Cycles and instructions of counted control groups on at least two platforms.',
  explain:
    'A linear program assigns each application’s instructions to platforms so that all work takes the fewest cycles, and no platform exceeds its capacity. A cautious plan makes only moves that pay off at the worse ends of the intervals. The saving is corrected for the plan’s optimism, because the plan was chosen by measurements with errors.',
  section: 'Platform affinity',
  route: '/api/v1/analysis/affinity',
  fields: [
    {
      name: 'pinned',
      label: 'Pinned applications',
      help: 'They stay where they are; separated by commas.',
      initial: '',
      suggest: 'application',
    },
    {
      name: 'room',
      label: 'Room',
      help: 'Share by which a platform may give more cycles than today.',
      initial: '0',
    },
    {
      name: 'floor',
      advanced: true,
      label: 'Floor',
      help: 'Smallest share of an application’s work that must stay on a platform.',
      initial: '0',
    },
    {
      name: 'largest_share',
      advanced: true,
      label: 'Largest share',
      help: 'Of an application on one platform, for availability.',
      initial: '1',
    },
    {
      name: 'cautious',
      label: 'Moves',
      help: '',
      initial: 'true',
      choices: [
        { value: 'true', text: 'only those that certainly pay off' },
        { value: 'false', text: 'all that pay off by the estimates' },
      ],
    },
    {
      name: 'applications',
      advanced: true,
      label: 'Applications',
      help: 'At most, those with most work first.',
      initial: '50',
    },
  ],
  sentence({ saving_cycles, present_cycles, rows_total, certain_cycles }) {
    if (!saving_cycles || !present_cycles) return 'There is no plan.';
    const share = (v: number | null): number | null => (v === null ? null : v / present_cycles);
    const saving = {
      value: saving_cycles.value / present_cycles,
      lo: share(saving_cycles.lo),
      hi: share(saving_cycles.hi),
    };
    const verdict =
      (saving_cycles.lo ?? -1) > 0
        ? `saves ${figure(saving, FINE_SHARE)} of the cycles`
        : `saves nothing that the measurements confirm: ${figure(saving, FINE_SHARE)} of the cycles`;
    return `Moving work between platforms (${count(rows_total)} moves) ${verdict}; at the worse ends of all intervals it saves ${certain_cycles === null ? 'nothing' : write(certain_cycles / present_cycles, FINE_SHARE)}.`;
  },
  naive: ({ saving_cycles, optimism_cycles, present_cycles }) =>
    saving_cycles && optimism_cycles !== null && present_cycles
      ? `Without the correction for optimism the plan promises ${write((saving_cycles.value + optimism_cycles) / present_cycles, FINE_SHARE)}.`
      : null,
  chart({ present }) {
    const platforms = [...new Set(present.map((p) => p.platform))].slice(0, 4);
    const applications = [...new Set(present.map((p) => p.application))].slice(0, 8);
    if (platforms.length === 0) return null;
    return {
      kind: 'bars',
      label: 'Cycles per instruction by platform',
      unit: RATIO,
      series: platforms.map(shortPlatform),
      rows: applications.map((application) => ({
        name: application,
        values: platforms.map(
          (platform) =>
            present.find((p) => p.application === application && p.platform === platform)?.cpi ?? null,
        ),
      })),
    };
  },
  tables: ({ rows, rows_total, present }, links) => [
    {
      label: 'Moves',
      rows,
      total: rows_total,
      keyOf: (r: Schemas['MoveRow']) => JSON.stringify([r.application, r.source, r.destination]),
      columns: [
        nameColumn<Schemas['MoveRow']>(
          'application',
          (r) => r.application,
          (r) => links.application(r.application),
        ),
        nameColumn<Schemas['MoveRow']>(
          'from',
          (r) => r.source,
          (r) => links.value('platform', r.source),
        ),
        nameColumn<Schemas['MoveRow']>(
          'to',
          (r) => r.destination,
          (r) => links.value('platform', r.destination),
        ),
        numberColumn<Schemas['MoveRow']>('share of its work', (r) => r.share, SHARE),
        numberColumn<Schemas['MoveRow']>('cycles saved', (r) => r.saving_cycles, NUMBER),
      ],
    },
    {
      label: 'Today',
      rows: present.slice(0, PAIRS),
      total: present.length,
      keyOf: (r: Schemas['Present']) => JSON.stringify([r.application, r.platform]),
      columns: [
        nameColumn<Schemas['Present']>(
          'application',
          (r) => r.application,
          (r) => links.application(r.application),
        ),
        nameColumn<Schemas['Present']>(
          'platform',
          (r) => r.platform,
          (r) => links.value('platform', r.platform),
        ),
        figureColumn<Schemas['Present']>('CPI', (r) => r.cpi, RATIO),
        numberColumn<Schemas['Present']>('instructions', (r) => r.instructions, NUMBER),
      ],
    },
  ],
  assumptions: ({ unknown }) =>
    unknown
      ? [
          `${count(unknown)} pairs of an application and a platform have no measurement; no work is moved there.`,
        ]
      : [],
};

const FEATURE: Report<Schemas['FeatureAnswer']> = {
  kind: 'feature',
  group: 'Platforms',
  title: 'A hardware feature',
  question: 'What would faster hardware for some functions save?',
  needs: 'CPU profiles, and a pattern of the functions that the feature makes faster.',
  explain:
    'The share of all functions whose names match, together, and the share that is saved if they become faster by a factor: share × (1 − 1 ÷ factor). A function is counted by its own time, without its callees.',
  section: 'Audits',
  route: '/api/v1/analysis/feature',
  fields: [
    {
      name: 'functions',
      label: 'Functions',
      help: 'An RE2 expression that matches any part of the name.',
      initial: '^(__)?mem(cpy|move|set)',
      required: true,
      wide: true,
    },
    { name: 'speedup', label: 'Speedup', help: 'A factor: 2 means half the time.', initial: '2' },
  ],
  sentence: ({ share, saved, speedup, functions }) =>
    `Functions that match ${functions} use ${figure(share, FINE_SHARE)} of the CPU time; made ${speedup} times as fast, they save ${figure(saved, FINE_SHARE)}.`,
  chart: ({ rows }) => ({
    kind: 'bars',
    label: 'Share of CPU time',
    unit: FINE_SHARE,
    series: ['self'],
    rows: rows
      .slice(0, BARS)
      .map((r) => ({ name: r.function, values: [{ value: r.share, lo: null, hi: null }] })),
  }),
  tables: ({ rows, rows_total }) => [
    {
      label: 'Functions',
      rows,
      total: rows_total,
      keyOf: (r: Schemas['FeatureRow']) => r.function,
      columns: [
        textColumn<Schemas['FeatureRow']>('function', (r) => r.function),
        numberColumn<Schemas['FeatureRow']>('share', (r) => r.share, FINE_SHARE),
      ],
    },
  ],
  assumptions: ({ low_confidence }) =>
    low_confidence ? ['Few machines contribute, so the interval is wide.'] : [],
};

export const PLATFORM_REPORTS = [RATIOS, SIDE_BY_SIDE, AFFINITY, FEATURE];
