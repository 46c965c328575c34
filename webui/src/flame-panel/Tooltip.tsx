import { useLayoutEffect, useRef, type ReactNode } from 'react';
import type { FlameTree } from '../flame/tree.ts';
import { nameOf } from '../flame/tree.ts';
import { ROW_HEIGHT } from '../flame/view.ts';

interface Props {
  tree: FlameTree;
  node: number;
  /** Position of the pointer and of the frame's row within the canvas. */
  x: number;
  top: number;
  /** Terms and numbers. */
  children: ReactNode;
}

const OFFSET = 16;
const GAP = 6;

/** Name, binary and numbers of the hovered frame, below or above its row. The details have the rest. */
export function Tooltip({ tree, node, x, top, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  // Moved after layout and before paint: its size decides on which side of the row it fits.
  useLayoutEffect(() => {
    const tip = box.current!;
    const area = tip.parentElement!.getBoundingClientRect();
    const left = Math.max(0, Math.min(x + OFFSET, area.width - tip.offsetWidth - 4));
    const below = top + ROW_HEIGHT + GAP;
    const above = top - GAP - tip.offsetHeight;
    const fitsBelow = area.top + below + tip.offsetHeight <= innerHeight;
    const y = fitsBelow || area.top + above < 0 ? below : above;
    tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(y)}px)`;
  });
  const f = tree.func[node] < 0 ? null : tree.functions[tree.func[node]];
  return (
    <div ref={box} className="tooltip" aria-hidden="true">
      <div className="name code">{nameOf(tree, node)}</div>
      {f && f.binary !== '' && <div className="where code">{f.binary}</div>}
      <dl>{children}</dl>
    </div>
  );
}
