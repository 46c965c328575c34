import type { FlameTree } from '../flame/tree.ts';
import { nameOf } from '../flame/tree.ts';
import type { Go } from '../location/usePlace.ts';
import { literal } from '../selection/matchers.ts';
import { percent } from '../selection/numbers.ts';
import type { Place } from '../selection/place.ts';
import { amount } from './describe.ts';

interface Props {
  tree: FlameTree;
  node: number;
  unit: string;
  place: Place;
  go: Go;
}

/** The selected frame, with what can be done about it; stays where the tooltip goes away. */
export function FrameDetails({ tree, node, unit, place, go }: Props) {
  const name = nameOf(tree, node);
  const k = tree.func[node];
  const all = tree.total[0] || 1;
  const exactly = `^${literal(name)}$`;
  return (
    <div className="details">
      <span className="name code" title={name}>
        {name}
      </span>
      <span className="numbers">
        total <b>{percent(tree.total[node] / all)}</b> {amount(tree.total[node], unit)} · self{' '}
        <b>{percent(tree.self[node] / all)}</b> {amount(tree.self[node], unit)}
      </span>
      {k >= 0 && (
        <span className="actions">
          <button
            type="button"
            onClick={() => go({ mark: `function:${tree.functions[k].id}`, find: '' })}
            title="light up every frame of this function"
          >
            All its frames
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
            onClick={() =>
              go({ ignore: place.ignore === '' ? exactly : `${place.ignore}|${exactly}`, node: '' })
            }
            title="leave out stacks with this function"
          >
            Without
          </button>
        </span>
      )}
    </div>
  );
}
