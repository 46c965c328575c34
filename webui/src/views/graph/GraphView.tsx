/**
 * A call graph. Drag, wheel, arrow keys and buttons move and zoom; Tab goes through the functions by weight, a click
 * or Enter focuses one: its calls stay, the others fade.
 */
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { centred, fitted, showing, zoomed, type Camera, type Size } from './camera.ts';
import type { DrawnGraph } from './graph.ts';
import { GraphShapes } from './GraphShapes.tsx';
import { useDrag } from './useDrag.ts';
import { useLayout } from './useLayout.ts';
import './graph.css';

interface Props {
  label: string;
  graph: DrawnGraph;
  /** Id of the focused function; 0: none. */
  focused: number;
  /** Ids that a search found; null: nothing is searched. */
  found: ReadonlySet<number> | null;
  onFocus: (id: number) => void;
  /** Colours of heat above and below zero. */
  colours?: readonly [above: string, below: string];
}

const BY_SELF = ['--bar', '--bar'] as const;

const STEP_PX = 60;
const ZOOM = 1.3;

export function GraphView({ label, graph, focused, found, onFocus, colours = BY_SELF }: Props) {
  const ref = useRef<SVGSVGElement>(null);
  const [view, setView] = useState<Size>({ width: 800, height: 500 });
  const wanted = useMemo(
    () => ({
      boxes: graph.nodes.map(({ width, height }) => ({ width, height })),
      arcs: graph.edges.map(({ from, to, weight }) => ({ from, to, weight })),
    }),
    [graph],
  );
  const laid = useLayout(wanted);
  const layout = laid !== null && 'layout' in laid ? laid.layout : null;
  const [moved, setMoved] = useState<{ layout: object; camera: Camera } | null>(null);
  const at = focused === 0 ? -1 : graph.nodes.findIndex(({ node }) => node.id === focused);
  const initial = useMemo(
    () => (layout === null ? null : at < 0 ? fitted(layout, view) : centred(layout, layout.boxes[at], view)),
    [layout, at, view],
  );
  const camera = initial !== null && moved?.layout === layout ? moved.camera : initial;
  const change = useCallback(
    (next: (camera: Camera) => Camera) => {
      if (layout === null || initial === null) return;
      setMoved((before) => ({ layout, camera: next(before?.layout === layout ? before.camera : initial) }));
    },
    [layout, initial],
  );

  useEffect(() => {
    const observer = new ResizeObserver(
      ([
        {
          contentRect: { width, height },
        },
      ]) => setView({ width, height }),
    );
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (layout !== null && at >= 0) change((now) => showing(now, layout.boxes[at], view));
  }, [layout, at, view, change]);

  useEffect(() => {
    const svg = ref.current!;
    // React's wheel listeners are passive and cannot keep the page from scrolling.
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      const factor = Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015));
      change((now) => zoomed(now, factor, event.clientX - box.left, event.clientY - box.top));
    };
    svg.addEventListener('wheel', onWheel, { passive: false });
    return () => svg.removeEventListener('wheel', onWheel);
  }, [change]);

  const zoom = (factor: number): void =>
    change((now) => zoomed(now, factor, view.width / 2, view.height / 2));
  const move = (x: number, y: number): void => change((now) => ({ ...now, x: now.x + x, y: now.y + y }));
  const fit = (): void => change(() => fitted(layout!, view));
  const drag = useDrag(move);
  const onKeyDown = (event: KeyboardEvent): void => {
    const run = {
      ArrowLeft: () => move(STEP_PX, 0),
      ArrowRight: () => move(-STEP_PX, 0),
      ArrowUp: () => move(0, STEP_PX),
      ArrowDown: () => move(0, -STEP_PX),
      '+': () => zoom(ZOOM),
      '=': () => zoom(ZOOM),
      '-': () => zoom(1 / ZOOM),
      '0': fit,
      Escape: () => onFocus(0),
    }[event.key];
    if (run === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };

  return (
    <div className="graph-view">
      <svg
        ref={ref}
        role="group"
        aria-label={label}
        aria-busy={laid === null}
        tabIndex={0}
        onKeyDown={onKeyDown}
        {...drag.handlers}
      >
        <defs>
          <marker
            id="graph-arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="9"
            markerHeight="9"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0,0L8,4L0,8Z" />
          </marker>
        </defs>
        {layout !== null && camera !== null && (
          <g transform={`translate(${camera.x} ${camera.y}) scale(${camera.scale})`}>
            <GraphShapes
              graph={graph}
              layout={layout}
              at={at}
              found={found}
              colours={colours}
              onChoose={(id) => {
                if (!drag.moved()) onFocus(id);
              }}
              onReached={(k) => change((now) => showing(now, layout.boxes[k], view))}
            />
          </g>
        )}
      </svg>
      <div className="graph-buttons">
        <button
          type="button"
          className="icon"
          aria-label="zoom in"
          title="zoom in ( + )"
          onClick={() => zoom(ZOOM)}
        >
          +
        </button>
        <button
          type="button"
          className="icon"
          aria-label="zoom out"
          title="zoom out ( - )"
          onClick={() => zoom(1 / ZOOM)}
        >
          −
        </button>
        <button type="button" onClick={fit} title="the whole graph ( 0 )">
          Fit
        </button>
      </div>
      {laid === null && (
        <p className="graph-note" role="status">
          Laying out {graph.nodes.length} functions …
        </p>
      )}
      {laid !== null && 'error' in laid && (
        <p className="graph-note" role="alert">
          The graph could not be laid out. The list has the same functions and calls.
        </p>
      )}
    </div>
  );
}
