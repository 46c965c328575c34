/** The parts of a selection that can be removed one by one, to find the one that leaves no samples. */
import { formatMatchers, parseMatchers } from './matchers.ts';
import { SELECTION, type Selection } from './selection.ts';
import { secondsBack } from './time.ts';

export interface Constraint {
  /** Begins a sentence: `The filter application="x"`. */
  what: string;
  action: string;
  without: Partial<Selection>;
}

const DAY = 86_400;
const PATTERNS = [
  ['focus', 'Keeping stacks containing', 'Keep all stacks'],
  ['ignore', 'Dropping stacks containing', 'Drop no stacks'],
  ['hide', 'Hiding frames', 'Hide no frames'],
  ['show', 'Keeping only frames', 'Keep all frames'],
  ['show_from', 'Starting stacks at', 'Show whole stacks'],
] as const;

export function constraintsOf(place: Selection): Constraint[] {
  const found: Constraint[] = [];
  const matchers = parseMatchers(place.select);
  if (matchers === null) {
    found.push({ what: 'The filter text', action: 'Remove it', without: { select: '' } });
  } else {
    for (const m of matchers) {
      found.push({
        what: `The filter ${formatMatchers([m]).slice(1, -1)}`,
        action: 'Remove it',
        without: { select: formatMatchers(matchers.filter((other) => other !== m)) },
      });
    }
  }
  for (const [name, what, action] of PATTERNS) {
    if (place[name] !== '') found.push({ what: `${what} ${place[name]}`, action, without: { [name]: '' } });
  }
  if (place.campaign !== SELECTION.campaign.initial) {
    found.push({
      what: `Choosing the campaign ${place.campaign}`,
      action: `Show ${SELECTION.campaign.initial}`,
      without: { campaign: SELECTION.campaign.initial },
    });
  }
  if (place.event !== SELECTION.event.initial) {
    found.push({
      what: `Choosing the event ${place.event}`,
      action: `Show ${SELECTION.event.initial}`,
      without: { event: SELECTION.event.initial },
    });
  }
  const back = secondsBack(place.from);
  if (back === null || back < DAY) {
    found.push({
      what: 'The time range',
      action: 'Show the last 24 h',
      without: { from: 'now-24h', to: 'now' },
    });
  }
  return found;
}
