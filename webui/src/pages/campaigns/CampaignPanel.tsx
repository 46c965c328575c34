/** One campaign: its state, its plan, and what came of it in the last day. */
import type { CampaignAnswer, CampaignsAnswer } from '../../api/types.ts';
import { percent } from '../../selection/numbers.ts';
import { length } from '../../selection/time.ts';
import { Facts } from '../../views/fleet/Facts.tsx';
import { Marked } from '../../views/fleet/Marked.tsx';
import { When } from '../../views/fleet/When.tsx';
import { CAMPAIGN_STATES, outcomesText } from '../../views/fleet/words.ts';
import { CampaignActions } from './CampaignActions.tsx';
import { CampaignForm } from './CampaignForm.tsx';
import { HoursChart } from './HoursChart.tsx';
import { eventText, machinesText, paceText, smallShare } from './words.ts';

interface Props {
  campaign: CampaignAnswer;
  terms: Pick<CampaignsAnswer, 'new' | 'timed_events'>;
  /** Milliseconds since 1970. */
  now: number;
  isOpen: boolean;
  open: () => void;
  close: () => void;
}

export function CampaignPanel({ campaign, terms, now, isOpen, open, close }: Props) {
  return (
    <section className="panel campaign" aria-label={`campaign ${campaign.name}`}>
      <h2>
        {campaign.name} <Marked word={CAMPAIGN_STATES[campaign.state]} />
        <span className="note">
          since <When at={campaign.since} now={now} />
        </span>
      </h2>
      {campaign.why !== '' && (
        <p className={campaign.state === 'stopped' ? 'panel-body bad' : 'panel-body'}>{campaign.why}</p>
      )}
      <Facts
        facts={[
          ['Events', campaign.events.map(eventText).join('; ')],
          ['Counted', campaign.counted_events.join(', ')],
          ['Pace', paceText(campaign)],
          ['Machines', machinesText(campaign)],
          ['Planned overhead', `${smallShare(campaign.sampled_share)} of the machines’ time is sampled`],
          ['Coverage', `${length(Math.round(campaign.covered_last_day_s / 60) * 60)} of the last 24 hours`],
          [
            'Reduced',
            campaign.drawn_share < 1
              ? `${percent(campaign.drawn_share, 0)} of the planned profiles, because processing is behind`
              : null,
          ],
          [
            'Stops itself',
            `when ${percent(campaign.failure_threshold, 0)} of the latest ${campaign.failure_window} profiles failed`,
          ],
          ['Last hour', outcomesText(campaign.last_hour) || 'no profile'],
          ['Last day', outcomesText(campaign.last_day) || 'no profile'],
        ]}
      />
      <div className="panel-body">
        <HoursChart name={campaign.name} hours={campaign.hours} />
        {!isOpen && <CampaignActions campaign={campaign} change={open} />}
      </div>
      {isOpen && <CampaignForm campaign={campaign} terms={terms} close={close} />}
    </section>
  );
}

/** Profiles by hand: there is no plan. */
export function ByHandPanel({ campaign }: { campaign: CampaignAnswer }) {
  return (
    <section className="panel campaign" aria-label="profiles on request">
      <h2>
        Profiles on request <span className="note">campaign {campaign.name}</span>
      </h2>
      <p className="panel-body note">
        They are requested on the page of a machine, and represent no other machine. They change no result of
        the fleet.
      </p>
      <Facts
        facts={[
          ['Last hour', outcomesText(campaign.last_hour) || 'no profile'],
          ['Last day', outcomesText(campaign.last_day) || 'no profile'],
        ]}
      />
      <div className="panel-body">
        <HoursChart name={campaign.name} hours={campaign.hours} />
      </div>
    </section>
  );
}
