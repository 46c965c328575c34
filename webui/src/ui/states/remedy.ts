/** The smallest change of a place that removes the part that the server rejected. */
import type { ApiProblem } from '../../api/problem.ts';
import { compareWith } from '../../compare/base.ts';
import { HOME, type Place } from '../../selection/place.ts';

export interface Remedy {
  /** The button's text. */
  text: string;
  change: Partial<Place>;
}

const PATTERNS: readonly string[] = ['focus', 'ignore', 'hide', 'show', 'show_from'];

/** null: the part at fault is not known or cannot be removed; removing another part would not help. */
export function remedyFor(
  problem: Pick<ApiProblem, 'kind' | 'parameter' | 'isPassing'> | null,
  place: Place,
): Remedy | null {
  if (problem === null || problem.isPassing) return null;
  const wrong = problem.parameter;
  if (PATTERNS.includes(wrong)) return { text: 'Remove this filter', change: { [wrong]: '' } };
  if (wrong === 'from' || wrong === 'to')
    return { text: 'Show the last hour', change: { from: HOME.from, to: HOME.to } };
  if (wrong.startsWith('base_')) return { text: 'Compare with the previous period', change: compareWith({}) };
  if (wrong === 'event') return { text: `Show ${HOME.event}`, change: { event: HOME.event } };
  if (wrong === 'campaign' || problem.kind === 'unknown-campaign') return otherCampaign(place);
  if (wrong === 'select' && place.select !== '')
    return { text: 'Remove the filters', change: { select: '' } };
  return null;
}

/** The server does not report which side of a comparison has the unknown campaign: both get the default. */
function otherCampaign(place: Place): Remedy | null {
  const base = place.view === 'diff' ? place.base_campaign : '';
  const change: Partial<Place> = {};
  if (place.campaign !== HOME.campaign) change.campaign = HOME.campaign;
  if (base !== '' && base !== HOME.campaign) change.base_campaign = HOME.campaign;
  return Object.keys(change).length === 0 ? null : { text: `Show ${HOME.campaign}`, change };
}
