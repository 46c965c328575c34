import { frameAmount, frameShare, type FrameScale } from '../estimates/flame.ts';
import { bracket } from '../estimates/words.ts';
import type { FlameTree } from '../flame/tree.ts';
import { percent } from '../selection/numbers.ts';

interface Props {
  tree: FlameTree;
  node: number;
  weight: number;
  scale: FrameScale;
}

interface SharesProps extends Omit<Props, 'weight'> {
  /** Whether `self` of the tree's nodes is CPU time; not in trees of callers. */
  hasSelf?: boolean;
}

/** Total and self of a frame, as terms of a list. */
export function Shares({ tree, node, scale, hasSelf = true }: SharesProps) {
  return (
    <>
      <dt>total</dt>
      <dd>
        <Share tree={tree} node={node} weight={tree.total[node]} scale={scale} />
      </dd>
      {hasSelf && (
        <>
          <dt>self</dt>
          <dd>
            <Share tree={tree} node={node} weight={tree.self[node]} scale={scale} />
          </dd>
        </>
      )}
    </>
  );
}

/** A weight of a frame: its share, the share's interval, and the amount. */
export function Share({ tree, node, weight, scale }: Props) {
  const share = frameShare(tree, node, weight, scale);
  const interval = bracket('share', share);
  return (
    <>
      <b>{percent(share.value)}</b>
      {interval !== '' && <span className="bracket"> ({interval})</span>} {frameAmount(weight, scale)}
    </>
  );
}
