/** Two selections side by side: what changed, and which changes are significant. */
import { useMemo } from 'react';
import { useAnswer, useStatus } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage } from '../../app/Page.tsx';
import { COMPARE, type ComparePlace } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { useKeys, type Keys } from '../../app/useKeys.ts';
import { usePlace } from '../../app/usePlace.ts';
import { diffQuery, swapped } from '../../selection/base.ts';
import { rfc3339, absolute } from '../../selection/time.ts';
import { Segments } from '../../ui/Segments.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { FlameSkeleton, TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { BaseChoice } from './BaseChoice.tsx';
import './compare.css';
import { DiffPanel } from './DiffPanel.tsx';
import { FlameDiff } from './FlameDiff.tsx';
import { GraphDiff } from './GraphDiff.tsx';
import { LinesDiff } from './LinesDiff.tsx';
import { NoBase } from './NoBase.tsx';
import { Sides } from './Sides.tsx';

const VIEWS = [
  { value: 'table', text: 'Table' },
  { value: 'flame', text: 'Flame graph' },
  { value: 'graph', text: 'Call graph' },
  { value: 'lines', text: 'Lines', title: 'source lines that changed' },
] as const;
/** Frames of the merged call trees; lighter ones are left out and counted. */
const FLAME_NODES = 20_000;
/** Requested rows of a comparison: those with the largest changes. */
const DIFF_ROWS = 500;
const GRAPH_NODES = 60;
const FORMATS = [...ROW_FORMATS, 'pprof', 'collapsed'];

export function ComparePage() {
  const [place, go] = usePlace(COMPARE);
  const { asOf } = useAsOf();
  const status = useStatus();
  const hasRows = place.view === 'table' || place.view === 'lines';
  const by = place.view === 'lines' ? 'function' : place.by;
  const query = { ...diffQuery(place, asOf), by, limit: DIFF_ROWS, share: place.column };
  const diff = useAnswer('/api/v1/diff', query, { enabled: hasRows });
  const graphQuery = { ...diffQuery(place, asOf), nodes: GRAPH_NODES, edges: 2 * GRAPH_NODES };
  const graph = useAnswer('/api/v1/call-graph', graphQuery, { enabled: place.view === 'graph' });
  const flameQuery = { ...diffQuery(place, asOf), nodes: FLAME_NODES };
  const flame = useAnswer('/api/v1/flame-diff', flameQuery, { enabled: place.view === 'flame' });
  const shown = { place, go: (...change: Parameters<typeof go>) => go(...change) };
  const share =
    place.view === 'flame'
      ? { route: '/api/v1/flame-diff', query: flameQuery, formats: FORMATS }
      : place.view === 'graph'
        ? { route: '/api/v1/call-graph', query: graphQuery, formats: ROW_FORMATS }
        : { route: '/api/v1/diff', query, formats: FORMATS };
  const swap = (): void => go(swapped(place));
  useKeys(
    'This page',
    useMemo<Keys>(
      () => ({
        '/': ['find a row', () => document.getElementById('find')?.focus()],
        x: ['swap the sides', () => go(swapped(place))],
      }),
      [go, place],
    ),
  );
  return (
    <SelectionPage
      title="Compare"
      className="compare"
      place={place}
      go={go}
      share={share}
      busy={diff.isFetching || flame.isFetching || graph.isFetching}
    >
      <h1 className="sr-only">Compare two selections</h1>
      <div className="tools">
        <BaseChoice place={place} go={go} base={diff.data?.base} />
        <span className="spacer" />
        <Segments label="view" value={place.view} options={VIEWS} onChange={(view) => go({ view })} />
      </div>
      <section
        className={
          place.view === 'flame' ? 'panel flame' : place.view === 'graph' ? 'panel graph' : 'panel table'
        }
        aria-label="comparison"
      >
        {place.view === 'flame' ? (
          <Answered query={flame} what="the call trees" skeleton={<FlameSkeleton />} shown={shown}>
            {(answer) => (
              <>
                <Sides answer={answer} swap={swap} />
                <FlameDiff answer={answer} place={place} go={go} />
              </>
            )}
          </Answered>
        ) : place.view === 'graph' ? (
          <Answered query={graph} what="the call graphs" skeleton={<FlameSkeleton />} shown={shown}>
            {(answer) => (
              <>
                <Sides
                  answer={{ ...answer, base: answer.base!, base_totals: answer.base_totals! }}
                  swap={swap}
                />
                <GraphDiff answer={answer} place={place} go={go} />
              </>
            )}
          </Answered>
        ) : (
          <Answered query={diff} what="the comparison" skeleton={<TableSkeleton />} shown={shown}>
            {(answer) => (
              <>
                <Sides answer={answer} swap={swap} />
                {answer.base_totals.samples === 0 ? (
                  <NoBase answer={answer} halves={() => go(halvesOf(place, asOf))} />
                ) : place.view === 'lines' ? (
                  <LinesDiff rows={answer.rows} query={diffQuery(place, asOf)} place={place} go={go} />
                ) : (
                  <DiffPanel answer={answer} place={place} go={go} status={status.data} />
                )}
              </>
            )}
          </Answered>
        )}
      </section>
    </SelectionPage>
  );
}

/** Compares the later half of the range with the earlier one. */
function halvesOf(place: ComparePlace, asOf: number): Partial<ComparePlace> {
  const { from, to } = absolute(place, asOf);
  const middle = rfc3339((Date.parse(from) + Date.parse(to)) / 2);
  return { from: middle, to, base_from: from, base_to: middle, base_select: '', base_campaign: '' };
}
