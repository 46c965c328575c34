/** Who is signed in, the theme, prices, saved views and API tokens. */
import { useReasonAgainst, useSession } from '../../api/useSession.ts';
import { Page } from '../../app/Page.tsx';
import { useThemeChoice, type ThemeChoice } from '../../app/theme.ts';
import { localMinute } from '../../selection/time.ts';
import { Segments } from '../../ui/Segments.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { Facts } from '../../views/fleet/Facts.tsx';
import '../../views/fleet/fleet.css';
import { PricesPanel } from './PricesPanel.tsx';
import { TokensPanel } from './TokensPanel.tsx';
import { ViewsPanel } from './ViewsPanel.tsx';

const THEMES: readonly { value: ThemeChoice; text: string }[] = [
  { value: 'system', text: 'As the system' },
  { value: 'light', text: 'Light' },
  { value: 'dark', text: 'Dark' },
];

export function SettingsPage() {
  const session = useSession();
  const { choice, choose } = useThemeChoice();
  const isAdmin = useReasonAgainst('admin') === '';
  return (
    <Page title="Settings" className="fleet-page" busy={session.isFetching}>
      <h1>Settings</h1>
      <section className="panel" aria-label="session">
        <h2>Session</h2>
        <Answered query={session} what="the session" skeleton={<TableSkeleton />}>
          {({ role, name, kind, ends_at }) => (
            <Facts
              facts={[
                ['Role', role],
                ['Token', name],
                ['Signed in by', kind === 'session' ? 'this browser’s session' : 'a token'],
                ['Ends', ends_at === null ? 'no end' : localMinute(ends_at)],
              ]}
            />
          )}
        </Answered>
      </section>
      <section className="panel" aria-label="appearance">
        <h2>
          Colours <span className="note">of this browser; the key t changes them, too</span>
        </h2>
        <div className="panel-body">
          <Segments label="colours" value={choice} options={THEMES} onChange={choose} />
        </div>
      </section>
      <ViewsPanel />
      <PricesPanel />
      {isAdmin && <TokensPanel />}
    </Page>
  );
}
