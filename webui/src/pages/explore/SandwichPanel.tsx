/** Callers and callees of the chosen function in all stacks of the selection. */
import type { FlameAnswer } from '../../flame/decode.ts';
import type { FlameSummary } from '../../api/types.ts';
import type { ExplorePlace } from '../../app/pages.ts';
import type { ExploreGo } from '../../app/usePlace.ts';
import { frameScale } from '../../estimates/flame.ts';
import { groundOf } from '../../estimates/measure.ts';
import { SandwichView } from '../../flame-panel/SandwichView.tsx';

interface Props {
  answer: FlameAnswer<FlameSummary>;
  place: ExplorePlace;
  go: ExploreGo;
  dark: boolean;
  /** Price of one core-hour. */
  price: number | null;
}

export function SandwichPanel({ answer: { tree, head }, place, go, dark, price }: Props) {
  if (place.fn === 0)
    return (
      <section className="panel" aria-label="callers and callees">
        <div className="state">
          <p className="sentence">No function is chosen.</p>
          <p>Choose one in the table: its panel has “Callers and callees”.</p>
          <button type="button" className="primary" onClick={() => go({ view: 'both' })}>
            Show the table
          </button>
        </div>
      </section>
    );
  const ground = groundOf(head.totals, head.selection.select, price);
  return (
    <section className="panel flame" aria-label="callers and callees">
      <SandwichView
        tree={tree}
        functionId={place.fn}
        scale={frameScale(tree, head.totals.kept, head.selection.unit, place.measure, ground)}
        dark={dark}
        colour={place.colour}
        node={place.node}
        onZoom={(node) => go({ node })}
        onFunction={(fn) => go({ fn, node: '' })}
      />
    </section>
  );
}
