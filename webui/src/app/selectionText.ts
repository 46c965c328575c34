/** A selection in a few words, for windows that have no room for its controls: `last 24 h · checkout · share`. */
import { alternativesOf } from '../selection/alternatives.ts';
import { parseMatchers } from '../selection/matchers.ts';
import { FRAME_FILTERS } from '../selection/selection.ts';
import type { Shown } from './Page.tsx';
import { rangeText } from './TimeRange.tsx';

export function selectionText(place: Shown): string {
  const matchers = parseMatchers(place.select);
  const labels =
    matchers === null
      ? [place.select]
      : matchers.map(({ operator, value }) =>
          operator === '=' ? value || '(none)' : `${operator === '=~' ? '~' : 'not'} ${value}`,
        );
  const frames = FRAME_FILTERS.reduce(
    (sum, name) => sum + (place[name] === '' ? 0 : alternativesOf(place[name]).length),
    0,
  );
  const more = frames === 0 ? [] : [`${frames} frame ${frames === 1 ? 'filter' : 'filters'}`];
  return [rangeText(place), ...labels, ...more].join(' · ');
}
