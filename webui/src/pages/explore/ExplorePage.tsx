/** Table and flame graph of a selection. */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState, type CSSProperties } from 'react';
import { questionOf, useStatus } from '../../api/useAnswer.ts';
import { useDark } from '../../app/theme.ts';
import { CampaignBanner } from '../../app/CampaignBanner.tsx';
import { EXPLORE, type ExplorePlace } from '../../app/pages.ts';
import { usePrice } from '../../app/usePrice.ts';
import { SelectionPage } from '../../app/Page.tsx';
import { STACK_FORMATS } from '../../app/ShareMenu.tsx';
import { useAsOf } from '../../app/asOf.tsx';
import { usePlace } from '../../app/usePlace.ts';
import { useKept } from '../../api/useKept.ts';
import { unionOf } from '../../flame/union.ts';
import { FlamePanel } from '../../flame-panel/FlamePanel.tsx';
import { useFlameTree } from '../../flame-panel/useFlameTree.ts';
import { selectionOf } from '../../selection/selection.ts';
import { matchesFind, matchesMark } from '../../table/marks.ts';
import { TablePanel } from '../../table/TablePanel.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Splitter } from '../../ui/Splitter.tsx';
import { usePreference } from '../../ui/usePreference.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { Empty } from '../../ui/states/Empty.tsx';
import { FlameSkeleton } from '../../ui/states/Skeleton.tsx';
import { AboutNumbers } from './AboutNumbers.tsx';
import { callersOf } from './drawerQueries.ts';
import { FindField } from './FindField.tsx';
import { FunctionDrawer } from './FunctionDrawer.tsx';
import { SandwichPanel } from './SandwichPanel.tsx';
import { useTable } from './queries.ts';
import { useExploreKeys } from './useExploreKeys.ts';
import { SANDWICH, VIEWS } from './views.ts';
import './explore.css';

export function ExplorePage() {
  const [place, go] = usePlace(EXPLORE);
  const { asOf, refresh } = useAsOf();
  const dark = useDark();
  const status = useStatus();
  const hasTable = place.view === 'table' || place.view === 'both';
  const hasFlame = place.view !== 'table';
  const sandwich = place.view === 'sandwich';
  const views = place.fn === 0 && !sandwich ? VIEWS : [...VIEWS, SANDWICH];
  const [intent, setIntent] = useState(false);
  const onIntent = useCallback(() => setIntent(true), []);
  const query = selectionOf(place, asOf);
  const { by, sort, find: typed, regex } = place;
  const table = useKept(useTable(place, hasTable, intent || place.find !== '' || place.sort !== '-self'), {
    ...query,
    by,
    sort,
    find: typed,
    regex,
  });
  const flame = useKept(
    useFlameTree(query, screen.width, place.node, {
      enabled: hasFlame,
      whole: sandwich || place.find !== '' || place.mark !== '',
      by: byOf(place),
    }),
    { ...query, by: byOf(place) },
  );
  const [split, setSplit] = usePreference<number>('table-width', SPLIT);
  const answer = (hasTable ? table.data?.answer : undefined) ?? (hasFlame ? flame.data?.head : undefined);
  const price = usePrice(place);
  const tree = hasFlame ? flame.data?.tree : undefined;
  const find = useMemo(() => matchesFind(place.find, place.regex), [place.find, place.regex]);
  const union = useMemo(() => {
    if (tree === undefined || find === 'invalid') return null;
    const mark = find === null ? matchesMark(place.mark) : null;
    if (find !== null) return unionOf(tree, (f) => find(f.name));
    return mark === null ? null : unionOf(tree, mark);
  }, [tree, find, place.mark]);

  // The first samples show as soon as the server has them, not at the next refresh.
  const waits = useRef(false);
  const latest = status.data?.latest;
  useEffect(() => {
    if (waits.current && typeof latest === 'string') refresh();
    waits.current = latest === null;
  }, [latest, refresh]);

  const client = useQueryClient();
  const onRest = useCallback(
    (id: number) => {
      void client.prefetchQuery(questionOf('/api/v1/functions/{function_id}', {}, { function_id: id }));
      void client.prefetchQuery(questionOf('/api/v1/callers', callersOf(place, asOf, id)));
    },
    [client, place, asOf],
  );
  useExploreKeys(place, go);

  const share =
    place.view === 'flame'
      ? { route: '/api/v1/flame', query, formats: STACK_FORMATS }
      : {
          route: '/api/v1/table',
          query: { ...query, by: place.by, sort: place.sort, limit: 1000 },
          formats: STACK_FORMATS,
        };
  const empty = answer !== undefined && answer.totals.samples === 0;
  return (
    <SelectionPage
      title="Explore"
      className="explore"
      place={place}
      go={go}
      share={share}
      busy={table.isFetching || flame.isFetching}
    >
      <h1 className="sr-only">Where the CPU time goes</h1>
      <CampaignBanner status={status.data} campaign={place.campaign} />
      <div className="tools">
        <FindField
          place={place}
          go={go}
          invalid={find === 'invalid'}
          union={union}
          tree={tree}
          onIntent={onIntent}
          kept={flame.data?.head.totals.kept ?? 1}
          pruned={(flame.data?.head.pruned.nodes ?? 0) > 0}
        />
        <AboutNumbers totals={answer?.totals} unit={answer?.selection.unit} campaign={place.campaign} />
        <span className="spacer" />
        <Segments
          label="view"
          value={place.view}
          options={views}
          onChange={(view) => go({ view, node: '' })}
        />
      </div>
      {empty ? (
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
        <div
          className={`results ${place.view}`}
          style={{ '--left': `${split}fr`, '--right': `${100 - split}fr` } as CSSProperties}
        >
          {hasTable && (
            <TablePanel
              place={place}
              go={go}
              table={table}
              status={status.data}
              onIntent={onIntent}
              onRest={onRest}
            />
          )}
          {hasTable && hasFlame && (
            <Splitter label="width of the table" value={split} initial={SPLIT} onChange={setSplit} />
          )}
          {hasFlame && (
            <Answered
              query={flame}
              skeleton={
                <section className="panel flame" aria-label="flame graph">
                  <FlameSkeleton />
                </section>
              }
              what="the flame graph"
              shown={{ place, go }}
            >
              {(answer) =>
                sandwich ? (
                  <SandwichPanel answer={answer} place={place} go={go} dark={dark} price={price} />
                ) : (
                  <FlamePanel
                    place={place}
                    go={go}
                    flame={flame}
                    union={union}
                    dark={dark}
                    price={price}
                    onFunction={(fn) => go({ fn, node: '', view: 'sandwich' })}
                  />
                )
              }
            </Answered>
          )}
          {place.fn !== 0 && !sandwich && (
            <FunctionDrawer id={place.fn} place={place} go={go} price={price} />
          )}
        </div>
      )}
    </SelectionPage>
  );
}

/** The label that the flame graph's colours need as its outermost frames; the sandwich has frames of functions only. */
function byOf({ colour, view }: ExplorePlace): string {
  return colour === 'application' && view !== 'sandwich' ? 'application' : '';
}

/** Percent of the width that the table has at first. */
const SPLIT = 42;
