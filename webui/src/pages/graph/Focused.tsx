/** The focused function below the graph: its amounts and what can be done with it. */
import { Link } from 'wouter';
import { FUNCTION, linkTo, type GRAPH, type PlaceOf } from '../../app/pages.ts';
import type { Go } from '../../app/usePlace.ts';
import { literal } from '../../selection/matchers.ts';
import { EstimateText } from '../../ui/EstimateText.tsx';
import type { CallGraphAnswer } from '../../views/graph/graph.ts';

interface Props {
  answer: CallGraphAnswer;
  place: PlaceOf<typeof GRAPH>;
  go: Go<PlaceOf<typeof GRAPH>>;
}

export function Focused({ answer, place, go }: Props) {
  const node = answer.nodes.find(({ id }) => id === place.focus_on);
  if (node === undefined)
    return (
      <div className="graph-focus" role="status">
        The focused function is not among the {answer.nodes.length} heaviest.
        <Link href={linkTo(FUNCTION, place, {}, place.focus_on)}>Open its page</Link>
        <button type="button" onClick={() => go({ focus_on: 0 })}>
          Unfocus
        </button>
      </div>
    );
  return (
    <div className="graph-focus" role="status">
      <b className="code">{node.name}</b>
      <span>
        total{' '}
        <EstimateText
          estimate={{ value: node.total_share, lo: node.total_lo, hi: node.total_hi }}
          measure="share"
        />
      </span>
      <span>
        self{' '}
        <EstimateText
          estimate={{ value: node.self_share, lo: node.self_lo, hi: node.self_hi }}
          measure="share"
        />
      </span>
      <Link href={linkTo(FUNCTION, place, {}, node.id)}>Open its page</Link>
      <button type="button" onClick={() => go({ focus: `^${literal(node.name)}$` })}>
        Keep stacks containing it
      </button>
      <button type="button" onClick={() => go({ focus_on: 0 })}>
        Unfocus
      </button>
    </div>
  );
}
