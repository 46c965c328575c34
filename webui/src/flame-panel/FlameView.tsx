/** The canvas with its HTML overlays: tooltip, details of the selected frame, announcements. */
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { FrameScale } from '../estimates/flame.ts';
import { FlameCanvas } from '../flame/canvas.ts';
import { nodeKey } from '../flame/identity.ts';
import type { FlameTree } from '../flame/tree.ts';
import type { Union } from '../flame/union.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import type { ExplorePlace as Place } from '../app/pages.ts';
import { describe } from './describe.ts';
import { FrameDetails } from './FrameDetails.tsx';
import { Tooltip } from './Tooltip.tsx';

interface Props {
  tree: FlameTree;
  zoom: number;
  scale: FrameScale;
  union: Union | null;
  upward: boolean;
  dark: boolean;
  place: Place;
  go: Go;
}

interface Hover {
  node: number;
  x: number;
  y: number;
}

/** Dispatched on `window` by the page's keys: +1 to the next highlighted frame, -1 to the previous one. */
export const STEP_MATCH = 'fleetprof:step-match';

export function FlameView({ tree, zoom, scale, union, upward, dark, place, go }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const graph = useRef<FlameCanvas | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [selected, setSelected] = useState(zoom);
  const treeNow = useRef(tree);
  treeNow.current = tree;

  useLayoutEffect(() => {
    const g = new FlameCanvas(canvas.current!, box.current!, {
      onHover: (node, x, y) => setHover(node < 0 ? null : { node, x, y }),
      onSelect: setSelected,
      onZoom: (node) => go({ node: nodeKey(treeNow.current, node) }),
    });
    graph.current = g;
    // For benchmarks (benchmarks/ui) and the browser tests; the page does not read it.
    Object.assign(canvas.current!, { flameGraph: g });
    return () => g.destroy();
  }, [go]);

  useLayoutEffect(() => {
    graph.current!.show({ tree, zoom, union, upward, dark });
  }, [tree, zoom, union, upward, dark]);

  // A new tree has new node numbers, so the hovered node is invalid.
  useEffect(() => setHover(null), [tree, zoom]);

  // Marking a row in the table scrolls its heaviest stack into view.
  const markedAt = useRef('');
  useEffect(() => {
    if (place.mark === markedAt.current || union === null || union.nodes.length === 0) return;
    markedAt.current = place.mark;
    if (place.mark !== '')
      graph.current!.select(union.nodes.reduce((best, i) => (tree.total[i] > tree.total[best] ? i : best)));
  }, [place.mark, union, tree]);

  useEffect(() => {
    const step = (event: Event): void => graph.current?.selectMatch((event as CustomEvent<1 | -1>).detail);
    addEventListener(STEP_MATCH, step);
    return () => removeEventListener(STEP_MATCH, step);
  }, []);

  const shown = Math.min(selected, tree.n - 1);
  return (
    <>
      <div className="canvas" ref={box}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-roledescription="flame graph"
          aria-label="Flame graph. Arrow keys move between frames, Enter zooms, Backspace zooms out, Escape shows all. The table has the same data."
        />
        {hover && hover.node < tree.n && (
          <Tooltip tree={tree} node={hover.node} x={hover.x} y={hover.y} scale={scale} />
        )}
      </div>
      <FrameDetails tree={tree} node={shown} scale={scale} place={place} go={go} />
      <p className="sr-only" aria-live="polite">
        {describe(tree, shown, scale)}
      </p>
    </>
  );
}
