/** The calls and functions of a laid out graph. */
import { useMemo } from 'react';
import { loopAt, neighboursOf, pathThrough, type DrawnGraph } from './graph.ts';
import type { Layout } from './layout.ts';

interface Props {
  graph: DrawnGraph;
  layout: Layout;
  /** Position of the focused function; -1: none. */
  at: number;
  /** Ids that a search found; null: nothing is searched. */
  found: ReadonlySet<number> | null;
  /** Colours of heat above and below zero. */
  colours: readonly [above: string, below: string];
  /** A function, or 0 for none. */
  onChoose: (id: number) => void;
  /** The keyboard has reached the function at this position. */
  onReached: (k: number) => void;
}

export function GraphShapes({ graph, layout, at, found, colours, onChoose, onReached }: Props) {
  const near = useMemo(() => (at < 0 ? null : neighboursOf(graph, at)), [graph, at]);
  return (
    <>
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
            className={`graph-node${faded ? ' far' : ''}${found?.has(node.id) ? ' found' : ''}`}
            transform={`translate(${x - width / 2} ${y - height / 2})`}
            onClick={() => onChoose(k === at ? 0 : node.id)}
            onFocus={(event) => {
              if (event.currentTarget.matches(':focus-visible')) onReached(k);
            }}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' && event.key !== ' ') return;
              event.preventDefault();
              event.stopPropagation();
              onChoose(k === at ? 0 : node.id);
            }}
          >
            <title>{`${node.name}\n${node.binary}\n${amounts}`}</title>
            <rect
              width={width}
              height={height}
              rx="5"
              style={{
                fill: `color-mix(in srgb, var(${heat < 0 ? colours[1] : colours[0]}) ${(100 * Math.abs(heat)).toFixed(0)}%, var(--panel))`,
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
    </>
  );
}
