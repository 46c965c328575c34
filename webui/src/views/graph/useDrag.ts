import { useRef, type PointerEvent } from 'react';

/** Pixels of movement from which a press is a drag, not a click. */
const DRAG_PX = 4;

/** Moves with a pressed pointer. `moved`: the press that just ended was a drag. */
export function useDrag(move: (x: number, y: number) => void) {
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
