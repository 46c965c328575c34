/** The fields of the form of a campaign as texts, and the change that they make. */
import type { CampaignChange, CampaignPlan } from '../../api/types.ts';
import { labelsOf, labelsText, significantly } from './words.ts';

export interface EventDraft {
  event: string;
  duration_s: string;
  rate_hz: string;
  period: string;
  stacks: boolean;
  turn: string;
}

export interface Draft {
  name: string;
  period_s: string;
  visits_per_round: string;
  select_machines: string;
  failure_threshold: string;
  failure_window: string;
  counted_events: string;
  counted_cgroups: string;
  events: readonly EventDraft[];
}
/** The fields with one text. */
export type Field = Exclude<keyof Draft, 'events'>;
export type EventField = Exclude<keyof EventDraft, 'stacks'>;

/** Problems of the fields; those of the events by `events.0.duration_s`. */
export type Mistakes = Partial<Record<string, string>>;

type Limits = readonly [least: number, most: number];

const LIMITS: Partial<Record<Field, Limits>> = {
  period_s: [1, 604_800],
  visits_per_round: [0, 1_000_000],
  failure_threshold: [1, 100],
  failure_window: [1, 1_000_000],
  counted_cgroups: [0, 16],
};
const EVENT_LIMITS: Partial<Record<EventField, Limits>> = {
  duration_s: [0.001, 600],
  rate_hz: [0, 10_000],
  period: [0, 2 ** 53 - 1],
  turn: [0, 999],
};
const WHOLE: readonly string[] = ['failure_window', 'counted_cgroups', 'period', 'turn'];

/** The form of a plan; that of a new campaign has the server's plan and no name. */
export function draftOf(plan: CampaignPlan, name = ''): Draft {
  return {
    name,
    period_s: String(plan.period_s),
    visits_per_round: String(plan.visits_per_round),
    select_machines: labelsText(plan.select_machines),
    failure_threshold: significantly(100 * plan.failure_threshold),
    failure_window: String(plan.failure_window),
    counted_events: plan.counted_events.join(', '),
    counted_cgroups: String(plan.counted_cgroups),
    events: plan.events.map(({ event, duration_ms, rate_hz, period, stacks, turn }) => ({
      event,
      duration_s: String(duration_ms / 1000),
      rate_hz: String(rate_hz),
      period: String(period),
      stacks,
      turn: String(turn),
    })),
  };
}

/** What is wrong with the fields that differ from `unchanged`; of a new campaign (null) with all. */
export function mistakesIn(draft: Draft, unchanged: Draft | null): Mistakes {
  const mistakes: Mistakes = {};
  if (unchanged === null && !/^[^\s/]{1,100}$/.test(draft.name))
    mistakes['name'] = 'Use 1 to 100 characters without spaces and slashes.';
  for (const [field, limits] of Object.entries(LIMITS) as [Field, Limits][])
    if (draft[field] !== unchanged?.[field]) check(mistakes, field, draft[field], limits);
  if (labelsOf(draft.select_machines) === null)
    mistakes['select_machines'] = 'Write labels as name=value, separated by commas.';
  draft.events.forEach((event, k) => {
    if (event.event.trim() === '') mistakes[`events.${k}.event`] = 'Name an event, for example cpu.';
    for (const [field, limits] of Object.entries(EVENT_LIMITS) as [EventField, Limits][])
      check(mistakes, `events.${k}.${field}`, event[field], limits);
  });
  return mistakes;
}

function check(mistakes: Mistakes, field: string, text: string, [least, most]: Limits): void {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most))
    mistakes[field] = `Use a number from ${least} to ${most.toLocaleString('en')}.`;
  else if (WHOLE.includes(field.split('.').at(-1)!) && !Number.isInteger(value))
    mistakes[field] = 'Use a whole number.';
}

/** The members that differ from `unchanged`; of a new campaign (null) all. */
export function changeOf(draft: Draft, unchanged: Draft | null): CampaignChange {
  const differs = (field: keyof Draft): boolean =>
    unchanged === null || JSON.stringify(draft[field]) !== JSON.stringify(unchanged[field]);
  const change: CampaignChange = {};
  for (const field of ['period_s', 'visits_per_round', 'failure_window', 'counted_cgroups'] as const)
    if (differs(field)) change[field] = Number(draft[field]);
  if (differs('failure_threshold')) change.failure_threshold = Number(draft.failure_threshold) / 100;
  if (differs('select_machines')) change.select_machines = labelsOf(draft.select_machines) ?? {};
  if (differs('counted_events')) change.counted_events = namesIn(draft.counted_events);
  if (differs('events'))
    // Events are replaced as a whole.
    change.events = draft.events.map(({ event, duration_s, rate_hz, period, stacks, turn }) => ({
      event: event.trim(),
      duration_ms: Math.round(1000 * Number(duration_s)),
      rate_hz: Number(rate_hz),
      period: Number(period),
      stacks,
      turn: Number(turn),
    }));
  return change;
}

/** The event with this name: one that counts time is sampled at a rate, others have the gateway's period. */
export function renamed(
  draft: EventDraft,
  event: string,
  timed: readonly string[],
  rate_hz: string,
): EventDraft {
  const [was, is] = [timed.includes(draft.event.trim()), timed.includes(event.trim())];
  if (was === is) return { ...draft, event };
  return { ...draft, event, rate_hz: is ? rate_hz : '0', period: '0' };
}

function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
