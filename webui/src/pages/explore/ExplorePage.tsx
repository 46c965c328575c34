/** Table and flame graph of a selection. */
import { useMemo } from 'react';
import { useStatus } from '../../api/useAnswer.ts';
import { useDark } from '../../app/theme.ts';
import { EXPLORE, EXPLORE_VIEWS } from '../../app/pages.ts';
import { SelectionPage } from '../../app/Page.tsx';
import { STACK_FORMATS } from '../../app/ShareMenu.tsx';
import { useAsOf } from '../../app/asOf.tsx';
import { useKeys, type Keys } from '../../app/useKeys.ts';
import { usePlace } from '../../app/usePlace.ts';
import { unionOf } from '../../flame/union.ts';
import { FlamePanel } from '../../flame-panel/FlamePanel.tsx';
import { STEP_MATCH } from '../../flame-panel/FlameView.tsx';
import { useFlameTree } from '../../flame-panel/useFlameTree.ts';
import { selectionOf } from '../../selection/selection.ts';
import { matchesFind, matchesMark } from '../../table/marks.ts';
import { TablePanel } from '../../table/TablePanel.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Empty } from '../../ui/states/Empty.tsx';
import { AboutNumbers } from './AboutNumbers.tsx';
import { FindField } from './FindField.tsx';
import { useTable } from './queries.ts';

const VIEWS = [
  { value: 'table', text: 'Table' },
  { value: 'both', text: 'Both' },
  { value: 'flame', text: 'Flame graph' },
] as const;

export function ExplorePage() {
  const [place, go] = usePlace(EXPLORE);
  const { asOf } = useAsOf();
  const dark = useDark();
  const status = useStatus();
  const hasTable = place.view === 'table' || place.view === 'both';
  const hasFlame = place.view === 'flame' || place.view === 'both';
  const table = useTable(place, hasTable);
  const flame = useFlameTree(selectionOf(place, asOf), screen.width, place.node, {
    enabled: hasFlame,
    whole: place.find !== '' || place.mark !== '',
  });
  const answer =
    (hasTable ? table.data?.pages.at(-1) : undefined) ?? (hasFlame ? flame.data?.head : undefined);
  const price = status.data?.price_per_core_hour ?? null;
  const tree = hasFlame ? flame.data?.tree : undefined;
  const find = useMemo(() => matchesFind(place.find, place.regex), [place.find, place.regex]);
  const union = useMemo(() => {
    if (tree === undefined || find === 'invalid') return null;
    const mark = find === null ? matchesMark(place.mark) : null;
    if (find !== null) return unionOf(tree, (f) => find(f.name));
    return mark === null ? null : unionOf(tree, mark);
  }, [tree, find, place.mark]);

  useKeys(
    'This page',
    useMemo<Keys>(
      () => ({
        '/': [
          'find a function, in the table and in the flame graph',
          () => document.getElementById('find')?.focus(),
        ],
        n: ['next match', () => dispatchEvent(new CustomEvent(STEP_MATCH, { detail: 1 }))],
        N: ['previous match', () => dispatchEvent(new CustomEvent(STEP_MATCH, { detail: -1 }))],
        i: [
          'root of the flame graph at the top or at the bottom',
          () => go({ direction: place.direction === 'up' ? 'down' : 'up' }, 'replace'),
        ],
        v: [
          'the next view',
          () => go({ view: EXPLORE_VIEWS[(EXPLORE_VIEWS.indexOf(place.view) + 1) % VIEWS.length] }),
        ],
      }),
      [go, place.direction, place.view],
    ),
  );

  const query = selectionOf(place, asOf);
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
      <div className="tools">
        <FindField
          place={place}
          go={go}
          invalid={find === 'invalid'}
          union={union}
          tree={tree}
          kept={flame.data?.head.totals.kept ?? 1}
          pruned={(flame.data?.head.pruned.nodes ?? 0) > 0}
        />
        <AboutNumbers totals={answer?.totals} unit={answer?.selection.unit} campaign={place.campaign} />
        <span className="spacer" />
        <Segments label="view" value={place.view} options={VIEWS} onChange={(view) => go({ view })} />
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
        <div className={`results ${place.view}`}>
          {hasTable && <TablePanel place={place} go={go} table={table} status={status.data} />}
          {hasFlame && (
            <FlamePanel place={place} go={go} flame={flame} union={union} dark={dark} price={price} />
          )}
        </div>
      )}
    </SelectionPage>
  );
}
