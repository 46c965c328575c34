/** The base of a comparison. */
import { formatMatchers, parseMatchers, type Matcher } from './matchers.ts';
import { earlier, type Range } from './periods.ts';
import { selectionOf, type BaseParams, type Selection, type SelectionQuery } from './selection.ts';
import { absolute } from './time.ts';

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

type Place = Selection & BaseParams;

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

export function diffQuery(place: Place, asOf: number): DiffQuery {
  const base = baseOf(place);
  const { from, to } = absolute(base, asOf);
  return {
    ...selectionOf(place, asOf),
    base_select: base.select || ALL,
    base_from: from,
    base_to: to,
    base_campaign: base.campaign,
  };
}

/** The parameters of a comparison with this base; `{}`: with the previous period. */
export function baseParams(base: Partial<Base>): BaseParams {
  return {
    base_select: base.select === '' ? ALL : (base.select ?? ''),
    base_from: base.from ?? '',
    base_to: base.to ?? '',
    base_campaign: base.campaign ?? '',
  };
}

/** Exchanges selection and base. */
export function swapped(place: Place): Partial<Place> {
  const base = baseOf(place);
  const { select, from, to, campaign } = place;
  return { ...base, ...baseParams({ select, from, to, campaign }) };
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
