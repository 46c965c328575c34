/** The call graph of a selection. */
import { useMemo } from 'react';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { GRAPH } from '../../app/pages.ts';
import { SelectionPage } from '../../app/Page.tsx';
import { STACK_FORMATS } from '../../app/ShareMenu.tsx';
import { useToast } from '../../app/Toast.tsx';
import { useKeys, type Keys } from '../../app/useKeys.ts';
import { usePlace } from '../../app/usePlace.ts';
import { percent, plural } from '../../selection/numbers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Segments } from '../../ui/Segments.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { FlameSkeleton } from '../../ui/states/Skeleton.tsx';
import { drawnGraph, type CallGraphAnswer } from '../../views/graph/graph.ts';
import { GraphView } from '../../views/graph/GraphView.tsx';
import { Focused } from './Focused.tsx';
import { GraphLists } from './GraphLists.tsx';
import { saveDot } from './saveDot.ts';

const NODES = [20, 40, 60, 80, 150];
/** More calls hide each other; the lightest are left out. */
const EDGES_PER_NODE = 2;

export function GraphPage() {
  const [place, go] = usePlace(GRAPH);
  const { asOf } = useAsOf();
  const say = useToast();
  const query = { ...selectionOf(place, asOf), nodes: place.nodes, edges: EDGES_PER_NODE * place.nodes };
  const answer = useAnswer('/api/v1/call-graph', query);
  const sizes = NODES.includes(place.nodes) ? NODES : [...NODES, place.nodes].sort((a, b) => a - b);
  useKeys(
    'This page',
    useMemo<Keys>(
      () => ({
        '/': ['find a function in the graph', () => document.getElementById('find')?.focus()],
        v: ['graph or list', () => go({ as: place.as === 'graph' ? 'list' : 'graph' })],
      }),
      [go, place.as],
    ),
  );
  return (
    <SelectionPage
      title="Call graph"
      className="graph"
      place={place}
      go={go}
      share={{ route: '/api/v1/call-graph', query, formats: [...STACK_FORMATS, 'dot'] }}
      busy={answer.isFetching}
    >
      <h1 className="sr-only">Call graph</h1>
      <section className="panel" aria-label="call graph">
        <div className="bar-top">
          <Segments
            label="show"
            value={place.as}
            options={[
              { value: 'graph', text: 'Graph' },
              { value: 'list', text: 'List' },
            ]}
            onChange={(as) => go({ as })}
          />
          <label className="field inline">
            functions
            <select value={place.nodes} onChange={(e) => go({ nodes: Number(e.target.value) })}>
              {sizes.map((n) => (
                <option key={n}>{n}</option>
              ))}
            </select>
          </label>
          <input
            id="find"
            type="search"
            aria-label="find a function in the graph"
            placeholder="Find in the graph  ( / )"
            value={place.find}
            onChange={(e) => go({ find: e.target.value }, 'replace')}
          />
          <button
            type="button"
            title="download the graph for Graphviz"
            onClick={() => void saveDot(query).catch((error: Error) => say(error.message))}
          >
            Download DOT
          </button>
        </div>
        <Answered query={answer} what="the call graph" skeleton={<FlameSkeleton />} shown={{ place, go }}>
          {(data) =>
            data.nodes.length === 0 ? (
              <p className="state sentence" role="status">
                No samples in this selection.
              </p>
            ) : (
              <Shown answer={data} place={place} go={go} />
            )
          }
        </Answered>
      </section>
    </SelectionPage>
  );
}

type PageState = ReturnType<typeof usePlace<(typeof GRAPH)['params']>>;
interface ShownProps {
  answer: CallGraphAnswer;
  place: PageState[0];
  go: PageState[1];
}

function Shown({ answer, place, go }: ShownProps) {
  const graph = useMemo(() => drawnGraph(answer), [answer]);
  const found = useMemo(() => {
    const wanted = place.find.toLowerCase();
    if (wanted === '') return null;
    return new Set(
      answer.nodes.filter(({ name }) => name.toLowerCase().includes(wanted)).map(({ id }) => id),
    );
  }, [answer, place.find]);
  const { left_out: hidden } = answer;
  return (
    <>
      <p className="note graph-summary">
        {plural(answer.nodes.length, 'function')}, {plural(answer.edges.length, 'call')}
        {found !== null && `, ${found.size} found`}
        {hidden.nodes > 0 &&
          `; ${plural(hidden.nodes, 'lighter function')} not shown, each at most ${percent(hidden.heaviest_node)}`}
        {hidden.edges > 0 &&
          `; ${plural(hidden.edges, 'lighter call')} not shown, each at most ${percent(hidden.heaviest_edge)}`}
        . Dashed: calls through functions that are not shown.
      </p>
      {place.as === 'graph' ? (
        <GraphView
          label={`call graph of ${plural(answer.nodes.length, 'function')}`}
          graph={graph}
          focused={place.focus_on}
          found={found}
          onFocus={(id) => go({ focus_on: id })}
        />
      ) : (
        <GraphLists answer={answer} found={found} place={place} />
      )}
      {place.focus_on !== 0 && <Focused answer={answer} place={place} go={go} />}
    </>
  );
}
