/** The smallest changes of a selection that avoid a failure. */
import type { ApiProblem } from '../../api/problem.ts';
import type { Shown } from '../../app/Page.tsx';
import { FRAME_FILTERS, SELECTION } from '../../selection/selection.ts';
import { presetOf } from '../../selection/time.ts';

export interface Remedy {
  /** The button's text. */
  text: string;
  change: Partial<Shown>;
}

const LAST_DAY = { from: SELECTION.from.initial, to: SELECTION.to.initial };
const NO_BASE = { base_select: '', base_from: '', base_to: '', base_campaign: '' };

/** Empty: the part at fault is not known or cannot be removed; removing another part would not help. */
export function remediesFor(
  problem: Pick<ApiProblem, 'kind' | 'parameter' | 'isPassing' | 'isTooSlow'> | null,
  place: Shown,
): Remedy[] {
  if (problem === null || problem.isPassing) return [];
  if (problem.isTooSlow)
    return presetOf(place) === '24h' ? [] : [{ text: 'Show the last 24 h', change: LAST_DAY }];
  const wrong = problem.parameter;
  if (FRAME_FILTERS.some((name) => name === wrong))
    return [{ text: 'Remove this filter', change: { [wrong]: '' } }];
  if (wrong === 'from' || wrong === 'to') return [{ text: 'Show the last 24 h', change: LAST_DAY }];
  if (wrong.startsWith('base_')) return [{ text: 'Compare with the previous period', change: NO_BASE }];
  const { event, campaign } = SELECTION;
  if (wrong === 'event') return [{ text: `Show ${event.initial}`, change: { event: event.initial } }];
  if (wrong === 'campaign' || problem.kind === 'unknown-campaign')
    return otherCampaign(place, campaign.initial);
  if (wrong === 'select' && place.select !== '')
    return [{ text: 'Remove the filters', change: { select: '' } }];
  return [];
}

/** The server does not report which side of a comparison has the unknown campaign: both get the default. */
function otherCampaign(place: Shown, usual: string): Remedy[] {
  const change: Partial<Shown> = {};
  if (place.campaign !== usual) change.campaign = usual;
  if (place.base_campaign !== undefined && place.base_campaign !== '' && place.base_campaign !== usual)
    change.base_campaign = usual;
  return Object.keys(change).length === 0 ? [] : [{ text: `Show ${usual}`, change }];
}
