/** Virtualized rows of a grid with keyboard navigation. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';

export const ROW_HEIGHT = 24;

interface Options {
  count: number;
  open: (index: number) => void;
  /** Opens the row's menu beside it; if missing, rows have no menu. */
  menu?: (index: number, at: DOMRect) => void;
  /** Fetches more rows near the end of the list; null if there are none. */
  readMore: (() => void) | null;
}

export function useRows({ count, open, menu, readMore }: Options) {
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
  });
  const visible = virtual.getVirtualItems();
  const lastVisible = visible.at(-1)?.index ?? 0;
  const current = Math.min(active, count - 1);

  useEffect(() => {
    if (readMore !== null && lastVisible >= count - 20) readMore();
  }, [readMore, lastVisible, count]);

  const moveTo = (index: number): void => {
    const to = Math.max(0, Math.min(count - 1, index));
    setActive(to);
    virtual.scrollToIndex(to);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || count === 0) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / ROW_HEIGHT) - 2);
    switch (event.key) {
      case 'ArrowDown':
      case 'j':
        moveTo(current + 1);
        break;
      case 'ArrowUp':
      case 'k':
        moveTo(current - 1);
        break;
      case 'PageDown':
        moveTo(current + page);
        break;
      case 'PageUp':
        moveTo(current - page);
        break;
      case 'Home':
        moveTo(0);
        break;
      case 'End':
        moveTo(count - 1);
        break;
      case 'Enter':
        open(current);
        break;
      case '.': {
        const at = scroller.current!.querySelector(`[data-index="${current}"]`)?.getBoundingClientRect();
        if (at) menu?.(current, at);
        break;
      }
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return { scroller, visible, height: virtual.getTotalSize(), current, setActive, onKeyDown };
}
