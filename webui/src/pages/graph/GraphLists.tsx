/** The graph's functions and calls as two tables. */
import { Link } from 'wouter';
import { FUNCTION, linkTo, type GRAPH, type PlaceOf } from '../../app/pages.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import type { CallGraphAnswer, GraphEdge, GraphNode } from '../../views/graph/graph.ts';

interface Props {
  answer: CallGraphAnswer;
  /** Ids of the functions that a search found; null: nothing is searched. */
  found: ReadonlySet<number> | null;
  place: PlaceOf<typeof GRAPH>;
}

export function GraphLists({ answer, found, place }: Props) {
  const name = (id: number, text: string) => (
    <Link className="code wrap" href={linkTo(FUNCTION, place, {}, id)}>
      {text}
    </Link>
  );
  const idOf = (index: number): number => answer.nodes[index].id;
  const nodes = answer.nodes.filter(({ id }) => found === null || found.has(id));
  const edges = answer.edges.filter(
    (edge) => found === null || found.has(idOf(edge.caller)) || found.has(idOf(edge.callee)),
  );
  return (
    <div className="graph-lists">
      <DataTable
        label="functions of the graph"
        rows={nodes}
        keyOf={(node) => String(node.id)}
        empty="No function of the graph has this name."
        columns={[
          { name: 'function', cell: (node) => name(node.id, node.name), sortBy: (node) => node.name },
          ...(['total', 'self'] as const).map((column) => ({
            name: column,
            number: true,
            cell: (node: GraphNode) => (
              <EstimateText
                estimate={{
                  value: node[`${column}_share`],
                  lo: node[`${column}_lo`],
                  hi: node[`${column}_hi`],
                }}
                measure="share"
              />
            ),
            sortBy: (node: GraphNode) => node[`${column}_share`],
          })),
        ]}
      />
      <DataTable
        label="calls of the graph"
        rows={edges}
        keyOf={(edge) => `${edge.caller} ${edge.callee}`}
        empty="No calls."
        columns={[
          {
            name: 'caller',
            cell: (edge) => name(idOf(edge.caller), edge.caller_function),
            sortBy: (edge) => edge.caller_function,
          },
          {
            name: 'callee',
            cell: (edge) => name(idOf(edge.callee), edge.callee_function),
            sortBy: (edge) => edge.callee_function,
          },
          {
            name: 'share',
            number: true,
            cell: (edge: GraphEdge) => (
              <EstimateText estimate={{ value: edge.share, lo: edge.lo, hi: edge.hi }} measure="share" />
            ),
            sortBy: (edge) => edge.share,
          },
          { name: 'direct', cell: (edge) => (edge.residual ? 'partly through others' : 'yes') },
        ]}
      />
    </div>
  );
}
