import type { FrameScale } from '../estimates/flame.ts';
import type { FlameTree } from '../flame/tree.ts';
import { nameOf } from '../flame/tree.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import { either, literal } from '../selection/matchers.ts';
import type { ExplorePlace as Place } from '../app/pages.ts';
import { Share } from './Share.tsx';

interface Props {
  tree: FlameTree;
  node: number;
  scale: FrameScale;
  place: Place;
  go: Go;
}

/** The selected frame and its actions; stays when the tooltip disappears. */
export function FrameDetails({ tree, node, scale, place, go }: Props) {
  const name = nameOf(tree, node);
  const k = tree.func[node];
  const exactly = `^${literal(name)}$`;
  return (
    <div className="details">
      <span className="name code" title={name}>
        {name}
      </span>
      <span className="numbers">
        total <Share tree={tree} node={node} weight={tree.total[node]} scale={scale} /> · self{' '}
        <Share tree={tree} node={node} weight={tree.self[node]} scale={scale} />
      </span>
      {k >= 0 && (
        <span className="actions">
          <button
            type="button"
            onClick={() => go({ mark: `function:${tree.functions[k].id}`, find: '' })}
            title="highlight all frames of this function"
          >
            Highlight all
          </button>
          <button
            type="button"
            onClick={() => go({ focus: exactly, node: '' })}
            title="keep only stacks with this function"
          >
            Only with
          </button>
          <button
            type="button"
            onClick={() => go({ ignore: either(place.ignore, exactly), node: '' })}
            title="leave out stacks with this function"
          >
            Without
          </button>
        </span>
      )}
    </div>
  );
}
