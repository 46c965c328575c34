/** Rows of equal height of which only the visible ones are in the DOM. */
import { useCallback, useEffect, useRef, useState, type RefObject } from 'react';

/** Rows in the DOM above and below what is visible. */
const MARGIN = 20;

interface VirtualRows {
  /** Of the scrolling element. */
  ref: RefObject<HTMLDivElement | null>;
  onScroll: () => void;
  /** The rows in the DOM: from `first`, up to and without `last`. */
  first: number;
  last: number;
}

/** `chosen`: a row that is scrolled into view when it changes; -1: none. `height`: pixels of a row. */
export function useVirtualRows(count: number, height: number, chosen: number): VirtualRows {
  const ref = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setRoom(entry.contentRect.height));
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const view = ref.current!;
    if (chosen < 0) return;
    const at = chosen * height;
    // A row that is visible already does not move.
    if (at < view.scrollTop || at > view.scrollTop + view.clientHeight - 2 * height)
      view.scrollTop = at - view.clientHeight / 3;
  }, [chosen, count, height]);
  return {
    ref,
    onScroll: useCallback(() => setTop(ref.current!.scrollTop), []),
    first: Math.max(0, Math.floor(top / height) - MARGIN),
    last: Math.min(count, Math.ceil((top + room) / height) + MARGIN),
  };
}
