/** The call graph of a comparison: functions coloured by what they take more or less. */
import { useMemo } from 'react';
import type { ComparePlace } from '../../app/pages.ts';
import { FUNCTION, linkTo } from '../../app/pages.ts';
import type { CompareGo } from '../../app/usePlace.ts';
import { percent, plural } from '../../selection/numbers.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { changedGraph, type CallGraphAnswer, type GraphNode } from '../../views/graph/graph.ts';
import { GraphView } from '../../views/graph/GraphView.tsx';
import { Link } from 'wouter';
import { FittedName } from '../../ui/FittedName.tsx';
import { ratio, signed } from './change.ts';

interface Props {
  answer: CallGraphAnswer;
  place: ComparePlace;
  go: CompareGo;
}

export function GraphDiff({ answer, place, go }: Props) {
  const graph = useMemo(() => changedGraph(answer), [answer]);
  const focused = Number(place.node) || 0;
  return (
    <>
      <p className="note graph-summary">
        {plural(answer.nodes.length, 'function')}, {plural(answer.edges.length, 'call')}. Orange: more than
        before; blue: less. The table below has the numbers; the view “Table” tests which changes are
        significant.
      </p>
      <GraphView
        label={`changes of ${plural(answer.nodes.length, 'function')}`}
        graph={graph}
        focused={focused}
        found={null}
        onFocus={(id) => go({ node: id === 0 ? '' : String(id) })}
        colours={['--more', '--less']}
      />
      <DataTable<GraphNode>
        label="functions of the graph"
        rows={answer.nodes}
        keyOf={(node) => String(node.id)}
        sorted="change"
        columns={[
          {
            name: 'function',
            wide: true,
            cell: (node) => (
              <Link className="code" href={linkTo(FUNCTION, place, {}, node.id)}>
                <FittedName name={node.name} />
              </Link>
            ),
            sortBy: (node) => node.name,
          },
          {
            name: 'before',
            number: true,
            cell: (node) => percent(node.b_total_share ?? 0),
            sortBy: (node) => node.b_total_share,
          },
          {
            name: 'after',
            number: true,
            cell: (node) => percent(node.total_share),
            sortBy: (node) => node.total_share,
          },
          {
            name: 'change',
            number: true,
            cell: (node) => signed(node.delta ?? 0, 'share'),
            sortBy: (node) => node.delta,
          },
          {
            name: '×',
            number: true,
            cell: (node) => ratio({ before: node.b_total_share ?? 0, after: node.total_share }),
          },
        ]}
      />
    </>
  );
}
