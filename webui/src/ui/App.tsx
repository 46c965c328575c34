import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ApiProblem } from '../api/problem.ts';
import { useFlame, useStatus, useTable } from '../api/queries.ts';
import { unionOf } from '../flame/union.ts';
import { FlamePanel } from '../flame-panel/FlamePanel.tsx';
import { STEP_MATCH } from '../flame-panel/FlameView.tsx';
import { usePlace } from '../location/usePlace.ts';
import { formatPlace, type Place } from '../selection/place.ts';
import { matchesFind, matchesMark } from '../table/marks.ts';
import { TablePanel } from '../table/TablePanel.tsx';
import { CampaignBanner } from './CampaignBanner.tsx';
import { copy } from './copy.ts';
import { Figures } from './Figures.tsx';
import { FindField } from './FindField.tsx';
import { Header } from './Header.tsx';
import { Help } from './Help.tsx';
import { Segments } from './Segments.tsx';
import { Empty } from './states/Empty.tsx';
import { Failure } from './states/Failure.tsx';
import { LoggedOut } from './states/LoggedOut.tsx';
import { Toast } from './Toast.tsx';
import { useKeys } from './useKeys.ts';
import { useTheme } from './useTheme.ts';

const VIEWS = [
  { value: 'table', text: 'Table' },
  { value: 'both', text: 'Both' },
  { value: 'flame', text: 'Flame graph' },
] as const;

export function App() {
  const [place, go] = usePlace();
  const { dark, toggle } = useTheme();
  const [help, setHelp] = useState(false);
  const [said, say] = useState('');
  const client = useQueryClient();
  const status = useStatus();
  const flame = useFlame(place, place.view !== 'table');
  const table = useTable(place, place.view !== 'flame');

  const answer = table.data?.pages.at(-1) ?? flame.data?.head;
  const answered = answer?.selection;
  const tree = place.view === 'table' ? undefined : flame.data?.tree;
  const find = useMemo(() => matchesFind(place.find, place.regex), [place.find, place.regex]);
  const union = useMemo(() => {
    if (tree === undefined || find === 'invalid') return null;
    const mark = find === null ? matchesMark(place.mark) : null;
    if (find !== null) return unionOf(tree, (f) => find(f.name));
    return mark === null ? null : unionOf(tree, mark);
  }, [tree, find, place.mark]);

  const copyLink = useCallback(() => {
    if (answered === undefined) return;
    const fixed: Place = { ...place, from: answered.from, to: answered.to };
    const link = location.origin + location.pathname + formatPlace(fixed);
    void copy(link).then((done) =>
      say(done ? 'Link copied, with its times fixed.' : `Copy this link: ${link}`),
    );
  }, [answered, place]);

  useKeys(
    useMemo(
      () => ({
        '/': () => document.getElementById('find')?.focus(),
        n: () => dispatchEvent(new CustomEvent(STEP_MATCH, { detail: 1 })),
        N: () => dispatchEvent(new CustomEvent(STEP_MATCH, { detail: -1 })),
        f: () => document.querySelector<HTMLElement>('.chip.add')?.click(),
        i: () => go({ direction: place.direction === 'up' ? 'down' : 'up' }, 'replace'),
        t: toggle,
        v: () =>
          go({ view: VIEWS[(VIEWS.findIndex((v) => v.value === place.view) + 1) % VIEWS.length].value }),
        y: copyLink,
        '?': () => setHelp(true),
      }),
      [go, place.direction, place.view, toggle, copyLink],
    ),
  );

  useEffect(() => {
    document.title = place.select === '' ? 'fleetprof' : `${place.select} – fleetprof`;
  }, [place.select]);

  // The first samples are shown as soon as the server has them, not at the next refresh.
  const waitsForFirst = useRef(false);
  const latest = status.data?.latest;
  useEffect(() => {
    if (waitsForFirst.current && typeof latest === 'string') void client.invalidateQueries();
    waitsForFirst.current = latest === null;
  }, [latest, client]);

  const errors = [table.error, flame.error, status.error].filter((e) => e !== null);
  if (errors.some((e) => e instanceof ApiProblem && e.isLoggedOut)) return <LoggedOut />;

  const failed =
    (place.view === 'flame' ? null : table.error) ?? (place.view === 'table' ? null : flame.error);
  const retry = (): void => {
    void table.refetch();
    void flame.refetch();
    void status.refetch();
  };
  const empty = answer !== undefined && answer.totals.samples === 0;
  const fetching = table.isFetching || flame.isFetching;

  return (
    <>
      <Header
        place={place}
        go={go}
        answered={answered}
        status={status.data}
        dark={dark}
        toggleTheme={toggle}
        copyLink={copyLink}
        help={() => setHelp(true)}
      />
      <main aria-busy={fetching}>
        <h1 className="sr-only">Where the CPU time goes</h1>
        <CampaignBanner status={status.data} campaign={place.campaign} />
        <Figures
          totals={answer?.totals}
          unit={answered?.unit}
          status={status.data}
          campaign={place.campaign}
        />
        {failed && answer && (
          <p className="stale" role="status">
            Could not refresh: {failed.message} What is shown is older.{' '}
            <button type="button" onClick={retry}>
              Try again
            </button>
          </p>
        )}
        {failed && !answer ? (
          <section className="panel">
            <Failure error={failed} retry={retry} place={place} go={go} />
          </section>
        ) : empty ? (
          <section className="panel" aria-label="no results">
            <Empty place={place} go={go} status={status.data} />
          </section>
        ) : (
          <>
            <div className="tools">
              <FindField
                place={place}
                go={go}
                invalid={find === 'invalid'}
                union={union}
                tree={tree}
                pruned={(flame.data?.head.pruned.nodes ?? 0) > 0}
              />
              <span className="spacer" />
              <Segments label="view" value={place.view} options={VIEWS} onChange={(view) => go({ view })} />
            </div>
            <div className={`results ${place.view}`}>
              <span className={fetching ? 'progress on' : 'progress'} aria-hidden="true" />
              {place.view !== 'flame' && (
                <TablePanel place={place} go={go} table={table} status={status.data} />
              )}
              {place.view !== 'table' && (
                <FlamePanel place={place} go={go} flame={flame} union={union} dark={dark} />
              )}
            </div>
          </>
        )}
      </main>
      <Toast text={said} clear={() => say('')} />
      <Help open={help} close={() => setHelp(false)} />
    </>
  );
}
