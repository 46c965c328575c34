/** What the function panel requests. */
import type { QueryOf } from '../../api/client.ts';
import type { ExplorePlace } from '../../app/pages.ts';
import { formatMatchers, parseMatchers } from '../../selection/matchers.ts';
import { selectionOf } from '../../selection/selection.ts';

/** Callers and callees shown of each. */
const NEIGHBOURS = 6;
/** Versions shown. */
export const VERSIONS = 5;
/** Points of the line over time. */
const POINTS = 48;

export function callersOf(place: ExplorePlace, asOf: number, id: number): QueryOf<'/api/v1/callers'> {
  // The trees are not shown, so they are as small as the server makes them.
  return { ...selectionOf(place, asOf), function_id: id, limit: NEIGHBOURS, nodes: 1 };
}

export function seriesOf(place: ExplorePlace, asOf: number, name: string): QueryOf<'/api/v1/series'> {
  return { ...selectionOf(containing(place, name), asOf), by: '', limit: 1, points: POINTS, share: 'total' };
}

export function versionsOf(place: ExplorePlace, asOf: number, name: string): QueryOf<'/api/v1/table'> {
  return { ...selectionOf(containing(place, name), asOf), by: 'version', sort: '-total', limit: VERSIONS };
}

/** Only stacks with the function. Filters on frames leave the denominator of shares as it is. */
function containing(place: ExplorePlace, name: string): ExplorePlace {
  const matchers = parseMatchers(place.select) ?? [];
  const select = formatMatchers([...matchers, { label: 'function', operator: '=', value: name }]);
  return { ...place, select };
}
