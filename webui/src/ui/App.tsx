import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ApiProblem } from '../api/problem.ts';
import { useDiff, useFlame, useReliability, useStatus, useTable } from '../api/queries.ts';
import { fixed } from '../compare/base.ts';
import { ComparePanel } from '../compare/ComparePanel.tsx';
import { groundOf } from '../estimates/measure.ts';
import { unionOf } from '../flame/union.ts';
import { FlamePanel } from '../flame-panel/FlamePanel.tsx';
import { STEP_MATCH } from '../flame-panel/FlameView.tsx';
import type { TableAnswer } from '../api/types.ts';
import { usePlace } from '../location/usePlace.ts';
import { ReliabilityPanel } from '../reliability/ReliabilityPanel.tsx';
import { formatPlace, type View } from '../selection/place.ts';
import { matchesFind, matchesMark } from '../table/marks.ts';
import { TablePanel } from '../table/TablePanel.tsx';
import { CampaignBanner } from './CampaignBanner.tsx';
import { copy } from './copy.ts';
import { Figures } from './Figures.tsx';
import { FindField } from './FindField.tsx';
import { Header } from './Header.tsx';
import { Headline } from './Headline.tsx';
import { Help } from './Help.tsx';
import { MeasureChoice, nextMeasure } from './MeasureChoice.tsx';
import { Segments } from './Segments.tsx';
import { Empty } from './states/Empty.tsx';
import { Failure } from './states/Failure.tsx';
import { LoggedOut } from './states/LoggedOut.tsx';
import { Toast } from './Toast.tsx';
import { Waiting } from './states/Waiting.tsx';
import { useKeys } from './useKeys.ts';
import { useTheme } from './useTheme.ts';

const VIEWS: readonly { value: View; text: string; title?: string }[] = [
  { value: 'table', text: 'Table' },
  { value: 'both', text: 'Both' },
  { value: 'flame', text: 'Flame graph' },
  { value: 'diff', text: 'Compare', title: 'with the previous period or any other selection' },
  { value: 'reliability', text: 'Reliability', title: 'how reliable this profile is' },
];

export function App() {
  const [place, go] = usePlace();
  const { dark, toggle } = useTheme();
  const [help, setHelp] = useState(false);
  const [said, say] = useState('');
  const client = useQueryClient();
  const status = useStatus();
  const hasTable = place.view === 'table' || place.view === 'both';
  const hasFlame = place.view === 'flame' || place.view === 'both';
  const table = useTable(place, hasTable);
  const flame = useFlame(place, hasFlame);
  const diff = useDiff(place, place.view === 'diff');
  const reliability = useReliability(place, place.view === 'reliability');

  const answers: Record<View, Pick<TableAnswer, 'selection' | 'totals'> | undefined> = {
    table: table.data?.pages.at(-1),
    both: table.data?.pages.at(-1) ?? flame.data?.head,
    flame: flame.data?.head,
    diff: diff.data,
    reliability: reliability.data,
  };
  const answer = answers[place.view];
  const answered = answer?.selection;
  const base = place.view === 'diff' ? diff.data?.base : undefined;
  const price = status.data?.price_per_core_hour ?? null;
  const ground = useMemo(
    () => answer && groundOf(answer.totals, answer.selection.select, price),
    [answer, price],
  );
  const tree = hasFlame ? flame.data?.tree : undefined;
  const find = useMemo(() => matchesFind(place.find, place.regex), [place.find, place.regex]);
  const union = useMemo(() => {
    if (tree === undefined || find === 'invalid') return null;
    const mark = find === null ? matchesMark(place.mark) : null;
    if (find !== null) return unionOf(tree, (f) => find(f.name));
    return mark === null ? null : unionOf(tree, mark);
  }, [tree, find, place.mark]);

  const copyLink = useCallback(() => {
    if (answered === undefined) return;
    const link = location.origin + location.pathname + formatPlace({ ...place, ...fixed(answered, base) });
    void copy(link).then((done) =>
      say(done ? 'Link copied. Its times are fixed.' : `Copy this link: ${link}`),
    );
  }, [answered, base, place]);

  useKeys(
    useMemo(
      () => ({
        '/': () => document.getElementById('find')?.focus(),
        n: () => dispatchEvent(new CustomEvent(STEP_MATCH, { detail: 1 })),
        N: () => dispatchEvent(new CustomEvent(STEP_MATCH, { detail: -1 })),
        f: () => document.querySelector<HTMLElement>('.chip.add')?.click(),
        i: () => go({ direction: place.direction === 'up' ? 'down' : 'up' }, 'replace'),
        t: toggle,
        u: () => go({ measure: nextMeasure(place.measure, ground) }, 'replace'),
        v: () =>
          go({ view: VIEWS[(VIEWS.findIndex((v) => v.value === place.view) + 1) % VIEWS.length].value }),
        y: copyLink,
        '?': () => setHelp(true),
      }),
      [go, place.direction, place.view, place.measure, ground, toggle, copyLink],
    ),
  );

  useEffect(() => {
    document.title = place.select === '' ? 'fleetprof' : `${place.select} – fleetprof`;
  }, [place.select]);

  // Shows the first samples as soon as the server has them, not at the next refresh.
  const waitsForFirst = useRef(false);
  const latest = status.data?.latest;
  useEffect(() => {
    if (waitsForFirst.current && typeof latest === 'string') void client.invalidateQueries();
    waitsForFirst.current = latest === null;
  }, [latest, client]);

  const asked = [hasTable && table, hasFlame && flame].filter((q) => q !== false);
  const shown = place.view === 'diff' ? [diff] : place.view === 'reliability' ? [reliability] : asked;
  const errors = [...shown.map((q) => q.error), status.error].filter((e) => e !== null);
  if (errors.some((e) => e instanceof ApiProblem && e.isLoggedOut)) return <LoggedOut />;

  const failed = shown.find((q) => q.error !== null)?.error ?? null;
  const retry = (): void => {
    for (const query of shown) void query.refetch();
    void status.refetch();
  };
  const empty = answer !== undefined && answer.totals.samples === 0;
  const fetching = shown.some((q) => q.isFetching);

  return (
    <>
      <Header
        place={place}
        go={go}
        answered={answered}
        base={base}
        status={status.data}
        dark={dark}
        toggleTheme={toggle}
        copyLink={copyLink}
        help={() => setHelp(true)}
      />
      <main aria-busy={fetching}>
        <h1 className="sr-only">Where the CPU time goes</h1>
        <CampaignBanner status={status.data} campaign={place.campaign} />
        {answer && !empty && <Headline totals={answer.totals} unit={answer.selection.unit} />}
        <Figures
          totals={answer?.totals}
          failed={failed !== null}
          unit={answered?.unit}
          status={status.data}
          campaign={place.campaign}
        />
        {failed && answer && (
          <p className="stale" role="status">
            Could not refresh: {failed.message} The page shows older data.{' '}
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
            <Empty
              totals={answer.totals}
              unit={answer.selection.unit}
              place={place}
              go={go}
              status={status.data}
            />
          </section>
        ) : (
          <>
            <div className="tools">
              {place.view !== 'reliability' && (
                <FindField
                  place={place}
                  go={go}
                  invalid={find === 'invalid'}
                  union={union}
                  tree={tree}
                  kept={flame.data?.head.totals.kept ?? 1}
                  pruned={(flame.data?.head.pruned.nodes ?? 0) > 0}
                />
              )}
              <span className="spacer" />
              {(hasTable || hasFlame) && <MeasureChoice measure={place.measure} ground={ground} go={go} />}
              <Segments label="view" value={place.view} options={VIEWS} onChange={(view) => go({ view })} />
            </div>
            <div className={`results ${place.view}`}>
              <span className={fetching ? 'progress on' : 'progress'} aria-hidden="true" />
              {shown.some((q) => q.isPlaceholderData) && <Waiting />}
              {hasTable && <TablePanel place={place} go={go} table={table} status={status.data} />}
              {hasFlame && (
                <FlamePanel place={place} go={go} flame={flame} union={union} dark={dark} price={price} />
              )}
              {place.view === 'diff' && (
                <ComparePanel place={place} go={go} diff={diff} status={status.data} />
              )}
              {place.view === 'reliability' && (
                <ReliabilityPanel place={place} go={go} reliability={reliability} />
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
