/**
 * A call graph. Drag, wheel, arrow keys and buttons move and zoom; Tab goes through the functions by weight, a click
 * or Enter focuses one: its calls stay, the others fade.
 */
import {
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
} from 'react';
import { centred, fitted, showing, zoomed, type Camera, type Size } from './camera.ts';
import { loopAt, neighboursOf, pathThrough, type DrawnGraph } from './graph.ts';
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
}

const STEP_PX = 60;
const ZOOM = 1.3;
/** Pixels of movement from which a press is a drag, not a click. */
const DRAG_PX = 4;

export function GraphView({ label, graph, focused, found, onFocus }: Props) {
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

  const near = useMemo(() => (at < 0 ? null : neighboursOf(graph, at)), [graph, at]);
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
            {graph.edges.map(({ edge, from, to, stroke }, k) => (
              <path
                key={k}
                className={`graph-edge${edge.residual ? ' residual' : ''}${near !== null && from !== at && to !== at ? ' far' : ''}`}
                d={from === to ? loopAt(layout.boxes[from], graph.nodes[from]) : pathThrough(layout.arcs[k])}
                strokeWidth={stroke}
                markerEnd="url(#graph-arrow)"
              >
                <title>{`${edge.caller_function} → ${edge.callee_function}: ${(100 * edge.share).toFixed(2)} %${edge.residual ? ', through functions that are not shown' : ''}`}</title>
              </path>
            ))}
            {graph.nodes.map(({ node, label: name, amounts, font, heat, width, height }, k) => {
              const { x, y } = layout.boxes[k];
              const faded = near === null ? found !== null && !found.has(node.id) : !near.has(k);
              return (
                <g
                  key={node.id}
                  role="button"
                  tabIndex={0}
                  aria-pressed={k === at}
                  aria-label={`${node.name}, ${amounts}`}
                  className={`graph-node${faded ? ' far' : ''}${found?.has(node.id) ? ' found' : ''}`}
                  transform={`translate(${x - width / 2} ${y - height / 2})`}
                  onClick={() => !drag.moved() && onFocus(k === at ? 0 : node.id)}
                  onFocus={(event) => {
                    if (event.currentTarget.matches(':focus-visible'))
                      change((now) => showing(now, layout.boxes[k], view));
                  }}
                  onKeyDown={(event) => {
                    if (event.key !== 'Enter' && event.key !== ' ') return;
                    event.preventDefault();
                    event.stopPropagation();
                    onFocus(k === at ? 0 : node.id);
                  }}
                >
                  <title>{`${node.name}\n${node.binary}\n${amounts}`}</title>
                  <rect
                    width={width}
                    height={height}
                    rx="5"
                    style={{
                      fill: `color-mix(in srgb, var(--bar) ${(100 * heat).toFixed(0)}%, var(--panel))`,
                    }}
                  />
                  <text x={width / 2} y={7 + font} fontSize={font}>
                    {name}
                  </text>
                  <text x={width / 2} y={height - 9} fontSize="11">
                    {amounts}
                  </text>
                </g>
              );
            })}
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

/** Moves with a pressed pointer. `moved`: the press that just ended was a drag. */
function useDrag(move: (x: number, y: number) => void) {
  const press = useRef<{ x: number; y: number; far: boolean } | null>(null);
  const dragged = useRef(false);
  return {
    moved: () => dragged.current,
    handlers: {
      onPointerDown: (event: PointerEvent<SVGSVGElement>) => {
        dragged.current = false;
        if (event.button === 0) press.current = { x: event.clientX, y: event.clientY, far: false };
      },
      onPointerMove: (event: PointerEvent<SVGSVGElement>) => {
        const from = press.current;
        if (from === null) return;
        const [x, y] = [event.clientX - from.x, event.clientY - from.y];
        if (!from.far && Math.hypot(x, y) < DRAG_PX) return;
        // Not before: a captured pointer's click would be the graph's, not a function's.
        if (!from.far) event.currentTarget.setPointerCapture(event.pointerId);
        dragged.current = true;
        press.current = { x: event.clientX, y: event.clientY, far: true };
        move(x, y);
      },
      onPointerUp: () => {
        press.current = null;
      },
      onPointerCancel: () => {
        press.current = null;
      },
    },
  };
}
