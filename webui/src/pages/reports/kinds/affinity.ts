/** Assignment of applications to platforms. */
import { count } from '../../../selection/numbers.ts';
import { figure, write, NUMBER, RATIO, SHARE, FINE_SHARE } from '../../../views/chart/quantity.ts';
import { shortPlatform } from '../phrases.ts';
import { cautiously, repeated, table, type Report, type Schemas } from '../report.ts';

/** Pairs of an application and a platform that the table has. */
const PAIRS = 40;

export const AFFINITY: Report<Schemas['AffinityAnswer']> = {
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
      words: repeated('--pin'),
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
      words: cautiously,
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
  tables: ({ rows, rows_total, present }) => [
    table({
      label: 'Moves',
      rows,
      total: rows_total,
      keyOf: (r) => JSON.stringify([r.application, r.source, r.destination]),
      columns: (c) => [
        c.application((r) => r.application),
        c.platform('from', (r) => r.source),
        c.platform('to', (r) => r.destination),
        c.number('share of its work', (r) => r.share, SHARE),
        c.number('cycles saved', (r) => r.saving_cycles, NUMBER),
      ],
    }),
    table({
      label: 'Today',
      rows: present.slice(0, PAIRS),
      total: present.length,
      keyOf: (r) => JSON.stringify([r.application, r.platform]),
      columns: (c) => [
        c.application((r) => r.application),
        c.platform('platform', (r) => r.platform),
        c.figure('CPI', (r) => r.cpi, RATIO),
        c.number('instructions', (r) => r.instructions, NUMBER),
      ],
    }),
  ],
  assumptions: ({ unknown }) =>
    unknown
      ? [
          `${count(unknown)} pairs of an application and a platform have no measurement; no work is moved there.`,
        ]
      : [],
};
