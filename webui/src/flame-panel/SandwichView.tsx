/** Callers and callees of a function in all stacks: callers above it, growing upward, callees below it. */
import { useMemo, useState } from 'react';
import { frameAmount, frameShare, type FrameScale } from '../estimates/flame.ts';
import { spoken } from '../estimates/words.ts';
import { colouring, type ColourBy } from '../flame/colouring.ts';
import { findNode, nodeKey } from '../flame/identity.ts';
import type { FlameTree } from '../flame/tree.ts';
import { nameOf } from '../flame/tree.ts';
import { calleesOf } from '../flame/transforms/callees.ts';
import { callersOf } from '../flame/transforms/callers.ts';
import { positionOf } from '../flame/transforms/occurrences.ts';
import { percent } from '../selection/numbers.ts';
import { FlameBox } from './FlameBox.tsx';
import { Share, Shares } from './Share.tsx';
import { useColouring } from './useColouring.ts';

interface Props {
  /** The whole tree (`useFlameTree` with `whole`): frames that are cut off are missing here, too. */
  tree: FlameTree;
  /** Its id. */
  functionId: number;
  /** That of the flame graph: shares are of the selection. */
  scale: FrameScale;
  dark: boolean;
  colour: ColourBy;
  /** The zoomed frame, as `onZoom` reported it; empty: none. */
  node: string;
  onZoom(node: string): void;
  /** Show another function instead. */
  onFunction?: ((id: number) => void) | undefined;
}

/** Begins the key of a frame among the callers. */
const CALLERS = '^';

type Side = 'callers' | 'callees';

export function SandwichView(props: Props) {
  const func = useMemo(() => positionOf(props.tree, props.functionId), [props.tree, props.functionId]);
  if (func < 0)
    return (
      <p className="note" role="status">
        No stack of this selection contains the function.
      </p>
    );
  return <Sandwich {...props} func={func} />;
}

function Sandwich({ tree, func, scale, dark, colour, node, onZoom, onFunction }: Props & { func: number }) {
  const trees: Record<Side, FlameTree> = useMemo(
    () => ({ callers: callersOf(tree, func), callees: calleesOf(tree, func) }),
    [tree, func],
  );
  const whole = useColouring(tree, colour);
  const colours = useMemo(() => {
    // Colours mean the same as in the flame graph.
    const of = (side: Side) => colouring(colour, trees[side], whole.hues);
    return { callers: of('callers'), callees: of('callees') };
  }, [whole, trees, colour]);
  const [selected, select] = useState<{ of: FlameTree; side: Side; node: number }>();
  // A selection of an earlier function is void.
  const shown = selected?.of === trees[selected?.side ?? 'callees'] ? selected : undefined;
  const side = shown?.side ?? 'callees';

  const zoomOf = (of: Side): number => {
    if (node.startsWith(CALLERS) !== (of === 'callers')) return 0;
    return Math.max(0, findNode(trees[of], of === 'callers' ? node.slice(CALLERS.length) : node));
  };
  const box = (of: Side, label: string) => (
    <FlameBox
      label={label}
      tree={trees[of]}
      zoom={zoomOf(of)}
      figures={(at) => <Shares tree={trees[of]} node={at} scale={scale} hasSelf={of === 'callees'} />}
      colouring={colours[of]}
      union={null}
      upward={of === 'callers'}
      dark={dark}
      onSelect={(at) => select({ of: trees[of], side: of, node: at })}
      onZoom={(at) => {
        const key = nodeKey(trees[of], at);
        onZoom(of === 'callers' && key !== '' ? CALLERS + key : key);
      }}
    />
  );
  return (
    <div className="sandwich">
      {box('callers', `Callers of ${nameOf(trees.callers, 0)}.`)}
      {box('callees', `Callees of ${nameOf(trees.callees, 0)}.`)}
      <Details tree={trees[side]} node={shown?.node ?? 0} side={side} scale={scale} onFunction={onFunction} />
    </div>
  );
}

interface DetailsProps extends Pick<Props, 'tree' | 'scale' | 'onFunction'> {
  node: number;
  side: Side;
}

function Details({ tree, node, side, scale, onFunction }: DetailsProps) {
  const name = nameOf(tree, node);
  const f = tree.functions[tree.func[node]];
  const weight = tree.total[node];
  const within = percent(weight / (tree.total[0] || 1), 1);
  const relation = side === 'callers' ? 'through this caller' : 'in this callee';
  const said = `${name}: ${spoken('share', frameShare(tree, node, weight, scale))}, ${frameAmount(weight, scale)}`;
  return (
    <div className="details">
      <span className="name code">{name}</span>
      {node > 0 && onFunction && (
        <span className="actions">
          <button type="button" onClick={() => onFunction(f.id)} title={`callers and callees of ${name}`}>
            Its callers and callees
          </button>
        </span>
      )}
      <span className="numbers">
        <span>
          total <Share tree={tree} node={node} weight={weight} scale={scale} />
        </span>
        {side === 'callees' && (
          <span>
            self <Share tree={tree} node={node} weight={tree.self[node]} scale={scale} />
          </span>
        )}
        {node > 0 && (
          <span>
            <b>{within}</b> of {nameOf(tree, 0)} {relation}
          </span>
        )}
      </span>
      <p className="sr-only" aria-live="polite">
        {node > 0 ? `${said}; ${within} of ${nameOf(tree, 0)} ${relation}` : said}
      </p>
    </div>
  );
}
