/** Campaigns: what is sampled, how often, and what comes of it; operators change them. */
import { useAnswer } from '../../api/useAnswer.ts';
import { useReasonAgainst } from '../../api/useSession.ts';
import { Page } from '../../app/Page.tsx';
import { CAMPAIGNS } from '../../app/pages.ts';
import { usePlace } from '../../app/usePlace.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import '../../views/fleet/fleet.css';
import { CampaignForm } from './CampaignForm.tsx';
import { ByHandPanel, CampaignPanel } from './CampaignPanel.tsx';
import './campaigns.css';

const EVERY_MS = 10_000;
/** No campaign can have this name. */
const NEW = '/new';

export function CampaignsPage() {
  const [place, go] = usePlace(CAMPAIGNS);
  const reason = useReasonAgainst('operator');
  const answer = useAnswer('/api/v1/campaigns', {}, { every: EVERY_MS });
  const close = (): void => go({ campaign: '' });
  return (
    <Page title="Campaigns" className="fleet-page" busy={answer.isFetching}>
      <div className="page-head">
        <h1>Campaigns</h1>
        <button type="button" disabled={reason !== ''} title={reason} onClick={() => go({ campaign: NEW })}>
          New campaign
        </button>
        {reason !== '' && <span className="note">{reason}</span>}
      </div>
      <Answered query={answer} what="the campaigns" skeleton={<TableSkeleton />}>
        {({ campaigns, ...terms }) => (
          <>
            {place.campaign === NEW && reason === '' && (
              <section className="panel" aria-label="new campaign">
                <h2>New campaign</h2>
                <CampaignForm campaign={null} terms={terms} close={close} />
              </section>
            )}
            {campaigns.every(({ draws }) => !draws) && (
              <div className="state" role="status">
                <p className="sentence">
                  No campaign exists yet. The collector creates “fleet” when it starts.
                </p>
              </div>
            )}
            {campaigns.map((campaign) =>
              campaign.draws ? (
                <CampaignPanel
                  key={campaign.name}
                  campaign={campaign}
                  terms={terms}
                  now={answer.dataUpdatedAt}
                  isOpen={place.campaign === campaign.name && reason === ''}
                  open={() => go({ campaign: campaign.name })}
                  close={close}
                />
              ) : null,
            )}
            {campaigns.map((campaign) =>
              campaign.draws ? null : <ByHandPanel key={campaign.name} campaign={campaign} />,
            )}
          </>
        )}
      </Answered>
    </Page>
  );
}
