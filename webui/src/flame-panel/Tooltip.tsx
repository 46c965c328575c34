import { useLayoutEffect, useRef } from 'react';
import type { FrameScale } from '../estimates/flame.ts';
import type { FlameTree } from '../flame/tree.ts';
import { nameOf } from '../flame/tree.ts';
import { percent } from '../selection/numbers.ts';
import { statusNote } from './describe.ts';
import { Share } from './Share.tsx';

interface Props {
  tree: FlameTree;
  node: number;
  /** Position of the pointer within the canvas. */
  x: number;
  y: number;
  scale: FrameScale;
}

const OFFSET = 16;

export function Tooltip({ tree, node, x, y, scale }: Props) {
  const box = useRef<HTMLDivElement>(null);
  // Moved after layout and before paint: its size decides on which side of the pointer it fits.
  useLayoutEffect(() => {
    const tip = box.current!;
    const area = tip.parentElement!.getBoundingClientRect();
    const left = Math.max(0, Math.min(x + OFFSET, area.width - tip.offsetWidth - 4));
    const below = y + OFFSET;
    const top = area.top + below + tip.offsetHeight > innerHeight ? y - OFFSET - tip.offsetHeight : below;
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  });
  const f = tree.func[node] < 0 ? null : tree.functions[tree.func[node]];
  const note = f === null ? '' : statusNote(f);
  const caller = tree.parent[node];
  return (
    <div ref={box} className="tooltip" aria-hidden="true">
      <div className="name code">{nameOf(tree, node)}</div>
      {f && (
        <div className="where">
          {f.file && <span className="code">{f.file}</span>}
          {f.binary && <span className="code">{f.binary}</span>}
          {f.kind === 'kernel' && <span>kernel</span>}
        </div>
      )}
      {note && <div className="where">{note}</div>}
      <dl>
        <dt>total</dt>
        <dd>
          <Share tree={tree} node={node} weight={tree.total[node]} scale={scale} />
        </dd>
        <dt>self</dt>
        <dd>
          <Share tree={tree} node={node} weight={tree.self[node]} scale={scale} />
        </dd>
        {caller > 0 && (
          <>
            <dt>share of caller</dt>
            <dd>
              <b>{percent(tree.total[node] / (tree.total[caller] || 1), 1)}</b>
            </dd>
          </>
        )}
      </dl>
      {f && scale.ground.random && (
        <div className="where">
          {f.effective === null
            ? 'too light for an interval here; the table shows one'
            : '95 % intervals with the design effect of the function: how much it varies between visits'}
        </div>
      )}
    </div>
  );
}
