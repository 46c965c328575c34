/** The base of a comparison. */
import { formatMatchers, parseMatchers, type Matcher } from '../selection/matchers.ts';
import { selectionOf, type Place, type SelectionQuery } from '../selection/place.ts';
import { isLive, secondsBack } from '../selection/time.ts';

export interface Range {
  from: string;
  to: string;
}

/** The base, with every default filled in; its event, focus and ignore are those of the page. */
export interface Base extends Range {
  select: string;
  campaign: string;
}

/** The parameters of a comparison request. */
export interface DiffQuery extends SelectionQuery {
  base_select: string;
  base_from: string;
  base_to: string;
  base_campaign: string;
}

/** Matchers that select everything. In a place, the empty text means "as in the selection". */
const ALL = '{}';

const DAY = 86_400;
export const STEPS_BACK = {
  'previous period': null,
  'a day earlier': DAY,
  'a week earlier': 7 * DAY,
} as const;
export type StepBack = keyof typeof STEPS_BACK;

export function baseOf(place: Place): Base {
  const { base_select, base_from, base_to, base_campaign } = place;
  const given = base_select !== '' || base_from !== '' || base_to !== '' || base_campaign !== '';
  const range = given ? place : (earlier(place, 'previous period') ?? place);
  return {
    select: base_select === '' ? place.select : base_select === ALL ? '' : base_select,
    from: base_from || range.from,
    to: base_to || range.to,
    campaign: base_campaign || place.campaign,
  };
}

export function diffQuery(place: Place): DiffQuery {
  const base = baseOf(place);
  return {
    ...selectionOf(place),
    base_select: base.select || ALL,
    base_from: base.from,
    base_to: base.to,
    base_campaign: base.campaign,
  };
}

/** Which share is compared: the one that tables are sorted by. */
export function comparedShare(place: Place): 'self' | 'total' {
  return place.sort.endsWith('total') ? 'total' : 'self';
}

/** The change of place that starts a comparison with this base. */
export function compareWith(base: Partial<Base>): Partial<Place> {
  return {
    view: 'diff',
    base_select: base.select === '' ? ALL : (base.select ?? ''),
    base_from: base.from ?? '',
    base_to: base.to ?? '',
    base_campaign: base.campaign ?? '',
    mark: '',
  };
}

/** Replaces relative times by the absolute times of the response. */
export function fixed(answered: Range, base: Range | undefined): Partial<Place> {
  const { from, to } = answered;
  return { from, to, ...(base === undefined ? {} : { base_from: base.from, base_to: base.to }) };
}

/** Exchanges selection and base. */
export function swapped(place: Place): Partial<Place> {
  const base = baseOf(place);
  const { select, from, to, campaign } = place;
  return { ...base, ...compareWith({ select, from, to, campaign }) };
}

/**
 * A range of the same length that lies earlier, or null if these times cannot be parsed.
 *
 * For a relative range the result is relative, too.
 */
export function earlier(range: Range, step: StepBack): Range | null {
  const back = secondsBack(range.from);
  if (isLive(range) && back !== null) {
    const by = STEPS_BACK[step] ?? back;
    return { from: ago(back + by), to: ago(by) };
  }
  const [from, to] = [Date.parse(range.from), Date.parse(range.to)];
  if (!(from < to)) return null;
  const by = 1000 * (STEPS_BACK[step] ?? 0) || to - from;
  return { from: instant(from - by), to: instant(to - by) };
}

/** `now-2h`, in the largest unit without a fraction. */
function ago(seconds: number): string {
  const units: [string, number][] = [
    ['d', DAY],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ];
  const [unit, per] = units.find(([, size]) => seconds % size === 0)!;
  return `now-${seconds / per}${unit}`;
}

function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('.000Z', 'Z');
}

/** The selection with these labels, as text: the matchers for both sides of a comparison of values. */
export function withLabels(select: string, by: readonly string[], key: Record<string, string>): string {
  return formatMatchers([...without(select, by), ...by.map((label) => equal(label, key[label] ?? ''))]);
}

/** The matchers without this label's value. */
export function withoutValue(select: string, label: string, value: string): string {
  return formatMatchers([...without(select, [label]), { label, operator: '!=', value }]);
}

function without(select: string, labels: readonly string[]): Matcher[] {
  return (parseMatchers(select) ?? []).filter((m) => !(labels.includes(m.label) && m.operator === '='));
}

function equal(label: string, value: string): Matcher {
  return { label, operator: '=', value };
}
