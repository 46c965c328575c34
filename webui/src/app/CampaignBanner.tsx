import type { StatusAnswer } from '../api/types.ts';
import { localMinute } from '../selection/time.ts';
import { Command } from '../ui/Command.tsx';

/** Holds visits on request: it is always paused, which is not an error. */
const BY_HAND = 'by-hand';

/** A prominent warning that a campaign stopped itself, with the reason and the command to resume it. */
export function CampaignBanner({ status, campaign }: { status: StatusAnswer | undefined; campaign: string }) {
  const plan = status?.campaigns.find((c) => c.name === campaign);
  if (plan === undefined || plan.state === 'running' || plan.name === BY_HAND) return null;
  return (
    <div className="banner" role="alert">
      <strong>
        The campaign “{plan.name}” is {plan.state}.
      </strong>{' '}
      {plan.why && <span>{sentence(plan.why)} </span>}
      {plan.since && <span>Nothing has been sampled since {localMinute(plan.since)}. </span>}
      <span className="way">
        To resume it, run <Command text={`fleetprof campaigns resume ${plan.name}`} />
      </span>
    </div>
  );
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
