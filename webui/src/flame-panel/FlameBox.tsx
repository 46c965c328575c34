/** The canvas of a tree with its tooltip. */
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from 'react';
import { FlameCanvas } from '../flame/canvas.ts';
import type { Colouring } from '../flame/colouring.ts';
import type { FlameTree } from '../flame/tree.ts';
import type { Union } from '../flame/union.ts';
import { Tooltip } from './Tooltip.tsx';

interface Props {
  /** For screen readers. */
  label: string;
  tree: FlameTree;
  zoom: number;
  /** The numbers of a frame, for the tooltip. */
  figures: (node: number) => ReactNode;
  colouring: Colouring;
  union: Union | null;
  upward: boolean;
  dark: boolean;
  onSelect(node: number): void;
  onZoom(node: number): void;
  /** Whether the page had something to close or clear; if not, the graph shows all stacks. */
  onEscape?: () => boolean;
  graph?: RefObject<FlameCanvas | null>;
}

interface Hover {
  node: number;
  x: number;
  top: number;
}

export function FlameBox(props: Props) {
  const { label, tree, zoom, figures, colouring, union, upward, dark } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const own = useRef<FlameCanvas | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useLayoutEffect(() => {
    const made = new FlameCanvas(canvas.current!, box.current!, {
      onHover: (node, x, top) => setHover(node < 0 ? null : { node, x, top }),
      onSelect: (node) => latest.current.onSelect(node),
      onZoom: (node) => latest.current.onZoom(node),
      onEscape: () => latest.current.onEscape?.() ?? false,
    });
    own.current = made;
    if (latest.current.graph) latest.current.graph.current = made;
    // For benchmarks (benchmarks/ui) and the browser tests; the page does not read it.
    Object.assign(canvas.current!, { flameGraph: made });
    return () => made.destroy();
  }, []);

  useLayoutEffect(() => {
    own.current!.show({ tree, zoom, colouring, union, upward, dark });
  }, [tree, zoom, colouring, union, upward, dark]);

  // A new tree has new node numbers, so the hovered node is invalid.
  useEffect(() => setHover(null), [tree, zoom]);

  return (
    <div className="canvas" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="flame graph"
        aria-label={`${label} Arrow keys move between frames, Enter zooms, Backspace zooms out, Escape clears the highlight or shows all.`}
      />
      {hover && hover.node < tree.n && (
        <Tooltip tree={tree} node={hover.node} x={hover.x} top={hover.top}>
          {figures(hover.node)}
        </Tooltip>
      )}
    </div>
  );
}
