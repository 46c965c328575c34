/** The fields of the form of a campaign as texts, and the change that they make. */
import type { CampaignAnswer, CampaignChange } from '../../api/types.ts';
import { labelsOf, labelsText, significantly } from './words.ts';

export interface Draft {
  name: string;
  event: string;
  period_s: string;
  visits_per_round: string;
  duration_s: string;
  rate_hz: string;
  select_machines: string;
  failure_threshold: string;
  failure_window: string;
}
export type Field = keyof Draft;

/** The values of a new campaign; the same as the server's for omitted members. */
export const NEW: Draft = {
  name: '',
  event: 'cpu',
  period_s: '60',
  visits_per_round: '3',
  duration_s: '5',
  rate_hz: '99',
  select_machines: '',
  failure_threshold: '50',
  failure_window: '20',
};

/** Events that count time, which are sampled at a rate; the server's list. */
const TIMED: readonly string[] = [
  'cpu',
  'cycles',
  'ref-cycles',
  'cycles-any',
  'cycles-distributed',
  'memory-stalls',
  'aperf',
  'mperf',
  'tsc',
];

const LIMITS: Partial<Record<Field, readonly [least: number, most: number]>> = {
  period_s: [1, 604_800],
  visits_per_round: [0, 1_000_000],
  duration_s: [0.001, 600],
  rate_hz: [0.1, 10_000],
  failure_threshold: [1, 100],
  failure_window: [1, 1_000_000],
};

export function draftOf(campaign: CampaignAnswer): Draft {
  const [first] = campaign.events;
  return {
    name: campaign.name,
    event: first?.event ?? 'cpu',
    period_s: String(campaign.period_s),
    visits_per_round: String(campaign.visits_per_round),
    duration_s: String((first?.duration_ms ?? 5000) / 1000),
    rate_hz: String(first?.rate_hz ?? 99),
    select_machines: labelsText(campaign.select_machines),
    failure_threshold: significantly(100 * campaign.failure_threshold),
    failure_window: String(campaign.failure_window),
  };
}

/** What is wrong with the fields, by field. */
export function mistakesIn(draft: Draft, unchanged: Draft | null): Partial<Record<Field, string>> {
  const mistakes: Partial<Record<Field, string>> = {};
  if (unchanged === null && !/^[^\s/]{1,100}$/.test(draft.name))
    mistakes.name = 'Use 1 to 100 characters without spaces and slashes.';
  if (draft.event.trim() === '') mistakes.event = 'Name an event, for example cpu.';
  for (const [field, limits] of Object.entries(LIMITS)) {
    const text = draft[field as Field];
    if (text === unchanged?.[field as Field]) continue; // not sent
    const value = Number(text);
    const [least, most] = limits;
    if (text.trim() === '' || !(value >= least && value <= most))
      mistakes[field as Field] = `Use a number from ${least} to ${most.toLocaleString('en')}.`;
  }
  if (!mistakes.failure_window && !Number.isInteger(Number(draft.failure_window)))
    mistakes.failure_window = 'Use a whole number.';
  if (labelsOf(draft.select_machines) === null)
    mistakes.select_machines = 'Write labels as name=value, separated by commas.';
  return mistakes;
}

/** The members that differ from `unchanged`; of a new campaign (null) all. */
export function changeOf(draft: Draft, unchanged: Draft | null): CampaignChange {
  const differs = (...fields: Field[]): boolean =>
    unchanged === null || fields.some((field) => draft[field] !== unchanged[field]);
  const change: CampaignChange = {};
  for (const field of ['period_s', 'visits_per_round', 'failure_window'] as const)
    if (differs(field)) change[field] = Number(draft[field]);
  if (differs('failure_threshold')) change.failure_threshold = Number(draft.failure_threshold) / 100;
  if (differs('select_machines')) change.select_machines = labelsOf(draft.select_machines) ?? {};
  if (unchanged === null || differs('event')) {
    // Events are replaced as a whole.
    const rate = TIMED.includes(draft.event.trim()) ? Number(draft.rate_hz) : 0;
    change.events = [
      {
        event: draft.event.trim(),
        duration_ms: Math.round(1000 * Number(draft.duration_s)),
        rate_hz: rate,
        period: 0,
        stacks: true,
        turn: 0,
      },
    ];
  } else {
    if (differs('duration_s')) change.duration_s = Number(draft.duration_s);
    if (differs('rate_hz')) change.rate_hz = Number(draft.rate_hz);
  }
  return change;
}
