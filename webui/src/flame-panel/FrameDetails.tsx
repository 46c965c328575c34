import type { FrameScale } from '../estimates/flame.ts';
import { shorten } from '../flame/names.ts';
import type { FlameFunction, FlameTree } from '../flame/tree.ts';
import { nameOf } from '../flame/tree.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import { either, literal } from '../selection/matchers.ts';
import type { ExplorePlace as Place } from '../app/pages.ts';
import { percent } from '../selection/numbers.ts';
import { statusNote } from './describe.ts';
import { Share } from './Share.tsx';

interface Props {
  tree: FlameTree;
  node: number;
  scale: FrameScale;
  place: Pick<Place, 'mark' | 'ignore'>;
  go: Go;
  /** Opens the callers and callees of a function, if the page can show them. */
  onFunction?: ((id: number) => void) | undefined;
}

/** Characters of the name on a button. */
const ON_BUTTON = 28;

/** The selected frame in full, and what can be done with its function. */
export function FrameDetails({ tree, node, scale, place, go, onFunction }: Props) {
  const name = nameOf(tree, node);
  const f = tree.func[node] < 0 ? null : tree.functions[tree.func[node]];
  const caller = tree.parent[node];
  return (
    <div className="details">
      <span className="name code">{name}</span>
      {f && f.id >= 0 && (
        <span className="actions">
          <Actions f={f} place={place} go={go} onFunction={onFunction} />
        </span>
      )}
      <span className="numbers">
        <span>
          total <Share tree={tree} node={node} weight={tree.total[node]} scale={scale} />
        </span>
        <span>
          self <Share tree={tree} node={node} weight={tree.self[node]} scale={scale} />
        </span>
        {caller > 0 && (
          <span>
            <b>{percent(tree.total[node] / (tree.total[caller] || 1), 1)}</b> of its caller
          </span>
        )}
      </span>
      {f && <Where f={f} random={scale.ground.random} />}
    </div>
  );
}

function Actions({
  f,
  place,
  go,
  onFunction,
}: Omit<Props, 'tree' | 'node' | 'scale'> & { f: FlameFunction }) {
  const mark = `function:${f.id}`;
  const exactly = `^${literal(f.name)}$`;
  const short = shorten(f.name, ON_BUTTON);
  return (
    <>
      {place.mark === mark ? (
        <button type="button" onClick={() => go({ mark: '' })} title="( Esc )">
          Clear highlight
        </button>
      ) : (
        <button
          type="button"
          onClick={() => go({ mark, find: '' })}
          title={`highlight all frames of ${f.name}`}
        >
          Highlight
        </button>
      )}
      {onFunction && (
        <button type="button" onClick={() => onFunction(f.id)} title={`callers and callees of ${f.name}`}>
          Callers and callees
        </button>
      )}
      <button
        type="button"
        onClick={() => go({ focus: exactly, node: '' })}
        title={`keep only stacks that contain ${f.name}`}
      >
        Keep stacks containing <span className="code">{short}</span>
      </button>
      <button
        type="button"
        onClick={() => go({ ignore: either(place.ignore, exactly), node: '' })}
        title={`leave out stacks that contain ${f.name}`}
      >
        Drop stacks containing <span className="code">{short}</span>
      </button>
    </>
  );
}

function Where({ f, random }: { f: FlameFunction; random: boolean }) {
  const note = statusNote(f);
  return (
    <span className="where">
      {f.file !== '' && <span className="code">{f.file}</span>}
      {f.binary !== '' && <span className="code">{f.binary}</span>}
      {f.kind === 'kernel' && <span>kernel</span>}
      {note !== '' && <span>{note}</span>}
      {random && (
        <span>
          {f.effective === null
            ? 'too light for an interval here; the table shows one'
            : '95 % intervals with the design effect of the function: how much it varies between visits'}
        </span>
      )}
    </span>
  );
}
