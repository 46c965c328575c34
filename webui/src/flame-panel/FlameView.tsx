/** The flame graph with the details of the selected frame and announcements. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { FrameScale } from '../estimates/flame.ts';
import type { FlameCanvas } from '../flame/canvas.ts';
import type { Colouring } from '../flame/colouring.ts';
import { nodeKey } from '../flame/identity.ts';
import type { FlameTree } from '../flame/tree.ts';
import type { Union } from '../flame/union.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import type { ExplorePlace as Place } from '../app/pages.ts';
import { describe } from './describe.ts';
import { FlameBox } from './FlameBox.tsx';
import { FrameDetails } from './FrameDetails.tsx';
import { Shares } from './Share.tsx';

interface Props {
  tree: FlameTree;
  zoom: number;
  scale: FrameScale;
  colouring: Colouring;
  union: Union | null;
  upward: boolean;
  dark: boolean;
  place: Pick<Place, 'mark' | 'find' | 'ignore'>;
  go: Go;
  /** Opens the callers and callees of a function, if the page can show them. */
  onFunction?: ((id: number) => void) | undefined;
}

/** Dispatched on `window` by the page's keys: +1 to the next highlighted frame, -1 to the previous one. */
export const STEP_MATCH = 'fleetprof:step-match';

export function FlameView(props: Props) {
  const { tree, zoom, scale, colouring, union, upward, dark, place, go, onFunction } = props;
  const graph = useRef<FlameCanvas | null>(null);
  const [selected, setSelected] = useState(zoom);

  // Highlighting a row of the table scrolls its heaviest stack into view.
  const highlighted = useRef('');
  useEffect(() => {
    if (place.mark === highlighted.current || union === null || union.nodes.length === 0) return;
    highlighted.current = place.mark;
    if (place.mark !== '')
      graph.current!.select(union.nodes.reduce((best, i) => (tree.total[i] > tree.total[best] ? i : best)));
  }, [place.mark, union, tree]);

  useEffect(() => {
    const step = (event: Event): void => graph.current?.selectMatch((event as CustomEvent<1 | -1>).detail);
    addEventListener(STEP_MATCH, step);
    return () => removeEventListener(STEP_MATCH, step);
  }, []);

  const clear = useCallback((): boolean => {
    if (place.mark === '' && place.find === '') return false;
    go({ mark: '', find: '' });
    return true;
  }, [place.mark, place.find, go]);
  useEscape(clear);

  const shown = Math.min(selected, tree.n - 1);
  return (
    <>
      <FlameBox
        label="Flame graph. The table has the same data."
        tree={tree}
        zoom={zoom}
        figures={(node) => <Shares tree={tree} node={node} scale={scale} />}
        colouring={colouring}
        union={union}
        upward={upward}
        dark={dark}
        onSelect={setSelected}
        onZoom={(node) => go({ node: nodeKey(tree, node) })}
        onEscape={clear}
        graph={graph}
      />
      <FrameDetails tree={tree} node={shown} scale={scale} place={place} go={go} onFunction={onFunction} />
      <p className="sr-only" aria-live="polite">
        {describe(tree, shown, scale)}
      </p>
    </>
  );
}

/** Escape outside of the graph, for instance in the table; not while something else is open or edited. */
function useEscape(clear: () => boolean): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      const target = event.target as HTMLElement;
      if (target.closest('input, select, textarea') || document.querySelector('dialog[open], :popover-open'))
        return;
      if (clear()) event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [clear]);
}
