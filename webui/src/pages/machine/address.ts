/** The selections of a machine and of a single profile of it. */
import type { VisitRow } from '../../api/types.ts';
import { EXPLORE, linkTo } from '../../app/pages.ts';
import { formatMatchers, parseMatchers, withMatcher } from '../../selection/matchers.ts';

/** The filters with this machine as one more; invalid filters are dropped. */
export function onMachine(select: string, machine: string): string {
  return formatMatchers(
    withMatcher(parseMatchers(select) ?? [], { label: 'machine', operator: '=', value: machine }),
  );
}

/** The range that has one profile only: from the time for which it is planned to a microsecond later. */
export function rangeOfProfile(plannedAt: string): { from: string; to: string } {
  return { from: plannedAt, to: microsecondAfter(plannedAt) };
}

/** Dates have milliseconds only, so the fraction is added to as text. */
function microsecondAfter(instant: string): string {
  const parts = /^(.*?:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(instant);
  if (parts === null) return instant;
  const [, second, fraction = '', zone] = parts;
  const next = Number(fraction.padEnd(6, '0').slice(0, 6)) + 1;
  if (next < 1_000_000) return `${second}.${String(next).padStart(6, '0')}${zone}`;
  return new Date(Date.parse(second + zone) + 1000).toISOString();
}

/** The page of one processed profile. */
export function linkToProfile({
  machine,
  campaign,
  planned_at,
}: Pick<VisitRow, 'machine' | 'campaign' | 'planned_at'>): string {
  return linkTo(EXPLORE, { campaign, select: onMachine('', machine), ...rangeOfProfile(planned_at) });
}
