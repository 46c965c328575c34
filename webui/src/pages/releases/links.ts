/** Addresses of what a release changed. */
import { COMPARE, EXPLORE, linkTo } from '../../app/pages.ts';
import type { Shown } from '../../app/Page.tsx';
import { baseParams, withLabels } from '../../selection/base.ts';

/** The comparison of two values of a label, of one application or of the fleet (empty). */
export function compareValues(
  place: Shown,
  application: string,
  label: string,
  after: string,
  before: string,
): string {
  const select = (value: string): string => {
    const by = application === '' ? [label] : ['application', label];
    return withLabels(place.select, by, { application, [label]: value });
  };
  return linkTo(COMPARE, { ...place, select: select(after) }, baseParams({ select: select(before) }));
}

export function exploreValue(place: Shown, labels: Record<string, string>): string {
  return linkTo(EXPLORE, { ...place, select: withLabels(place.select, Object.keys(labels), labels) });
}
