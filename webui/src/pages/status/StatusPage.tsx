/** What runs and what does not: machines, campaigns, failures, captures, symbols. */
import { Link } from 'wouter';
import { useStatus } from '../../api/useAnswer.ts';
import type { StatusAnswer } from '../../api/types.ts';
import { Page } from '../../app/Page.tsx';
import { CAMPAIGNS, linkTo, MACHINE, MACHINES, SYMBOLS } from '../../app/pages.ts';
import { count, percent, plural } from '../../selection/numbers.ts';
import { roughly } from '../../selection/time.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { Facts } from '../../views/fleet/Facts.tsx';
import { Marked } from '../../views/fleet/Marked.tsx';
import { When } from '../../views/fleet/When.tsx';
import { CAMPAIGN_STATES, outcomeOf, outcomesText } from '../../views/fleet/words.ts';
import '../../views/fleet/fleet.css';
import { Versions } from './Versions.tsx';
import { headlineOf } from './headline.ts';

export function StatusPage() {
  const answer = useStatus();
  return (
    <Page title="Status" className="fleet-page" busy={answer.isFetching}>
      <h1>Status</h1>
      <Answered query={answer} what="the state of the fleet" skeleton={<TableSkeleton />}>
        {(status) => <Panels status={status} />}
      </Answered>
    </Page>
  );
}

function Panels({ status }: { status: StatusAnswer }) {
  const now = Date.parse(status.now);
  const problems = headlineOf(status);
  return (
    <>
      {problems.length === 0 ? (
        <p role="status">
          <Marked word={{ text: 'No problem is known.', tone: 'good', title: '' }} />
        </p>
      ) : (
        <ul className="panel-body" aria-label="problems">
          {problems.map((problem) => (
            <li key={problem}>
              <Marked word={{ text: problem, tone: 'warn', title: '' }} />
            </li>
          ))}
        </ul>
      )}
      <div className="card-grid">
        <Collection status={status} now={now} />
        <Campaigns status={status} now={now} />
        <Failures status={status} now={now} />
        <Symbols status={status} />
        <Versions versions={status.versions} />
      </div>
    </>
  );
}

function Collection({ status, now }: { status: StatusAnswer; now: number }) {
  const { machines, captures, visits } = status;
  return (
    <section className="panel" aria-label="collection">
      <h2>Collection</h2>
      <Facts
        facts={[
          [
            'Machines',
            <Link key="machines" href={linkTo(MACHINES)}>
              {count(machines.enabled)} enabled of {count(machines.total)}
            </Link>,
          ],
          ['Latest data', <When key="latest" at={status.latest} now={now} none="none yet" />],
          ['Last hour', outcomesText(visits.last_hour) || 'no profile'],
          ['Waiting', waitingText(captures)],
          ['To reprocess', count(captures.to_reprocess)],
          ['Quarantined', count(captures.quarantined)],
          ['Events', status.events.map(({ event }) => event).join(', ')],
        ]}
      />
    </section>
  );
}

function waitingText({ waiting, oldest_waiting_s }: StatusAnswer['captures']): string {
  const oldest = oldest_waiting_s === null ? '' : `, the oldest for ${roughly(oldest_waiting_s)}`;
  return `${plural(waiting, 'profile')}${oldest}`;
}

type Campaign = StatusAnswer['campaigns'][number];

function Campaigns({ status, now }: { status: StatusAnswer; now: number }) {
  const columns: readonly Column<Campaign>[] = [
    { name: 'Campaign', cell: ({ name }) => <Link href={linkTo(CAMPAIGNS)}>{name}</Link> },
    { name: 'State', cell: ({ state }) => <Marked word={CAMPAIGN_STATES[state]} /> },
    { name: 'Since', cell: ({ since }) => <When at={since} now={now} /> },
    { name: 'Why', cell: ({ why }) => <span className="detail-text">{why}</span> },
  ];
  return (
    <section className="panel" aria-label="campaigns">
      <h2>Campaigns</h2>
      <DataTable
        label="campaigns"
        columns={columns}
        rows={status.campaigns}
        keyOf={({ name }) => name}
        empty={<p className="note">No campaign exists yet.</p>}
      />
    </section>
  );
}

type Failure = StatusAnswer['visits']['failures'][number];

function Failures({ status, now }: { status: StatusAnswer; now: number }) {
  const columns: readonly Column<Failure>[] = [
    { name: 'Outcome', cell: ({ outcome }) => <Marked word={outcomeOf(outcome)} /> },
    {
      name: 'Reason',
      cell: ({ detail }) => <span className="detail-text">{detail || 'no reason given'}</span>,
    },
    {
      name: 'Profiles',
      title: 'of the last day',
      number: true,
      cell: ({ visits }) => count(visits),
      sortBy: ({ visits }) => visits,
    },
    {
      name: 'Last hour',
      number: true,
      cell: ({ visits_last_hour }) => count(visits_last_hour),
      sortBy: ({ visits_last_hour }) => visits_last_hour,
    },
    {
      name: 'Machines',
      number: true,
      cell: ({ machines }) => count(machines),
      sortBy: ({ machines }) => machines,
    },
    {
      name: 'Example',
      cell: ({ example }) => <Link href={linkTo(MACHINE, {}, {}, example)}>{example}</Link>,
    },
    {
      name: 'Latest',
      cell: ({ latest }) => <When at={latest} now={now} />,
      sortBy: ({ latest }) => latest,
    },
  ];
  return (
    <section className="panel wide" aria-label="failures">
      <h2>
        Failures <span className="note">last 24 hours, by reason</span>
      </h2>
      <DataTable
        label="failures of the last day"
        columns={columns}
        rows={status.visits.failures}
        keyOf={({ outcome, detail, example }) => `${outcome} ${detail} ${example}`}
        empty={<p className="note">No profile failed in the last day.</p>}
      />
    </section>
  );
}

type Missing = StatusAnswer['symbols']['missing'][number];

function Symbols({ status }: { status: StatusAnswer }) {
  const columns: readonly Column<Missing>[] = [
    {
      name: 'Binary',
      cell: ({ binary, path }) => (
        <Link className="code" title={path} href={linkTo(SYMBOLS, {}, { find: binary, show: 'all' })}>
          {binary}
        </Link>
      ),
    },
    {
      name: 'Samples without names',
      number: true,
      cell: ({ share }) => percent(share),
      sortBy: ({ share }) => share,
    },
    { name: 'Reason', cell: ({ reason }) => <span className="detail-text">{reason}</span> },
  ];
  return (
    <section className="panel" aria-label="missing symbols">
      <h2>
        Missing symbols
        <Link className="note" href={linkTo(SYMBOLS)}>
          all
        </Link>
      </h2>
      <DataTable
        label="binaries without symbols"
        columns={columns}
        rows={status.symbols.missing}
        keyOf={({ binary, path }) => `${path} ${binary}`}
        empty={<p className="note">Every sampled function of the last day has a name.</p>}
      />
    </section>
  );
}
