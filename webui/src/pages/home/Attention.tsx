/** What an operator or the owner of a service should look at, the worst first. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import type { RegressionsAnswer, StatusAnswer } from '../../api/types.ts';
import type { Shown } from '../../app/Page.tsx';
import { CAMPAIGNS, CHANGES, linkTo, MACHINES, RELEASE, RELEASES, STATUS, SYMBOLS } from '../../app/pages.ts';
import { count, percent, plural } from '../../selection/numbers.ts';
import { localMinute, roughly } from '../../selection/time.ts';
import { shorten } from '../../flame/names.ts';
import { coresOf } from '../releases/ChangedFunctions.tsx';

/** Regressions in the list. */
const SHOWN = 5;
/** A capture that waits longer than this many seconds is late. */
const LATE_S = 300;
/** Characters of a function's name. */
const ROOM = 40;

interface Props {
  place: Shown;
  status: StatusAnswer | undefined;
}

export function Attention({ place, status }: Props) {
  const regressions = useAnswer('/api/v1/regressions', {});
  const items = [
    ...(status === undefined ? [] : troubles(status, place)),
    ...(regressions.data === undefined ? [] : regressed(regressions.data, place)),
  ];
  return (
    <section className="panel attention" aria-label="needs attention">
      <h2>Needs attention</h2>
      <ul>
        {items.map(({ key, tone, content }) => (
          <li key={key} className={tone}>
            {content}
          </li>
        ))}
        {items.length === 0 && status !== undefined && (
          <li className="fine">Sampling runs, and every binary has symbols.</li>
        )}
      </ul>
      <p className="note">
        {nightly(regressions.data)} <Link href={linkTo(RELEASES, place)}>Releases</Link> and{' '}
        <Link href={linkTo(CHANGES, place)}>changes</Link> are computed when opened.
      </p>
    </section>
  );
}

function nightly(answer: RegressionsAnswer | undefined): string {
  if (answer === undefined) return '';
  if (answer.day === null)
    return `Regressions are computed every night, first at ${localMinute(answer.next_run)}.`;
  return `Regressions of ${answer.day}; the next are computed at ${localMinute(answer.next_run)}.`;
}

interface Item {
  key: string;
  tone: 'bad' | 'warn' | 'grew';
  content: ReactNode;
}

function regressed(answer: RegressionsAnswer, place: Shown): Item[] {
  return answer.applications.slice(0, SHOWN).flatMap(({ application, comparison }) => {
    const { worst, version, kind } = comparison;
    if (worst === null) return [];
    const since = kind === 'release' ? ` ${version}` : ', this week';
    return [
      {
        key: application,
        tone: 'grew' as const,
        content: (
          <>
            <Link href={linkTo(RELEASE, place, {}, application)}>
              {application}
              {since}
            </Link>
            : <span className="code">{shorten(worst.key['function'] ?? '', ROOM)}</span>{' '}
            {percent(worst.b_share, 1)} → <b>{percent(worst.a_share, 1)}</b>
            {worst.extra_cores !== null && `, ${coresOf(worst)} cores`}
          </>
        ),
      },
    ];
  });
}

function troubles(status: StatusAnswer, place: Shown): Item[] {
  const items: Item[] = [];
  const plan = status.campaigns.find((c) => c.name === place.campaign);
  if (plan !== undefined && plan.state !== 'running') {
    items.push({
      key: 'campaign',
      tone: 'bad',
      content: (
        <>
          <Link href={linkTo(CAMPAIGNS)}>Sampling is {plan.state}</Link>
          {plan.why && `: ${plan.why}`}
        </>
      ),
    });
  }
  const { quarantined, oldest_waiting_s, waiting } = status.captures;
  if (quarantined > 0 || (oldest_waiting_s ?? 0) > LATE_S) {
    items.push({
      key: 'captures',
      tone: 'bad',
      content: (
        <Link href={linkTo(STATUS)}>
          {quarantined > 0
            ? `${plural(quarantined, 'profile')} could not be processed`
            : `${plural(waiting, 'profile')} wait to be processed, the oldest for ${roughly(oldest_waiting_s ?? 0)}`}
        </Link>
      ),
    });
  }
  const [failure] = status.visits.failures;
  if (failure !== undefined) {
    const machines = status.visits.failures.reduce((sum, f) => sum + f.machines, 0);
    items.push({
      key: 'machines',
      tone: 'warn',
      content: (
        <>
          <Link href={linkTo(MACHINES, {}, { state: 'failing' })}>
            Profiles of {count(machines)} machines failed in the last day
          </Link>
          <span className="note"> most often: {failure.detail || failure.outcome}</span>
        </>
      ),
    });
  }
  const { missing } = status.symbols;
  if (missing.length > 0) {
    const share = missing.reduce((sum, m) => sum + m.share, 0);
    items.push({
      key: 'symbols',
      tone: 'warn',
      content: (
        <>
          <Link href={linkTo(SYMBOLS)}>
            {missing.length === 1 ? '1 binary lacks' : `${missing.length} binaries lack`} function names
          </Link>
          <span className="note"> in {percent(Math.min(1, share), 1)} of samples</span>
        </>
      ),
    });
  }
  return items;
}
