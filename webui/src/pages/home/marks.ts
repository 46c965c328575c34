/** Changes of the fleet as marks of a chart over time. */
import type { Change } from '../../api/types.ts';
import type { Shown } from '../../app/Page.tsx';
import { CHANGES, linkTo } from '../../app/pages.ts';
import { count } from '../../selection/numbers.ts';
import { localMinute } from '../../selection/time.ts';
import type { Mark } from '../../views/series/marks.ts';
import { compareValues, exploreValue } from '../releases/links.ts';

/** A mark that knows what changed. */
export interface ChangeMark extends Mark {
  change: Change;
}

export function marksOf(changes: readonly Change[]): ChangeMark[] {
  return changes.map((change) => ({
    id: `${change.kind} ${change.deploy_id ?? ''} ${change.application ?? ''} ${change.label} ${change.value}`,
    at: Date.parse(change.time) / 1000,
    text: change.application === null ? change.value : `${change.application} ${change.value}`,
    title: sentenceOf(change),
    change,
  }));
}

export function sentenceOf(change: Change): string {
  const { kind, application, label, value, previous, text, share_now, visits } = change;
  const what = application === null ? `${label} ${value}` : `${application}: ${label} ${value}`;
  const when = localMinute(change.time);
  if (kind === 'mark') return `${what} deployed at ${when}${text ? `: ${text}` : ''}`;
  const after = previous === null || previous === '' ? '' : ` after ${previous}`;
  const now = share_now === null ? '' : `, now ${Math.round(100 * share_now.value)} %`;
  return `${what}${after}, first seen at ${when} in ${count(visits ?? 0)} profiles${now}`;
}

/** Where a mark leads: the comparison of the new value with the previous one. */
export function addressOfMark(place: Shown, mark: Mark): string {
  const { change } = mark as ChangeMark;
  const { application, label, value, previous } = change;
  if (previous !== null && previous !== '')
    return compareValues(place, application ?? '', label, value, previous);
  if (application !== null) return exploreValue(place, { application, [label]: value });
  return linkTo(CHANGES, place);
}
