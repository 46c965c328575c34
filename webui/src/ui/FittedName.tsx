/** A function name shortened to the width of its column; the full name is in its `title`. */
import { useLayoutEffect, useRef, useState } from 'react';
import { fitted } from './fitted.ts';

interface Props {
  name: string;
  /** Instead of the name, for example with the file below it. */
  title?: string;
}

/** One observer for all names of the page: a table of 200 rows needs no 200 observers. */
const listeners = new Map<Element, (width: number) => void>();
let observer: ResizeObserver | undefined;

function observe(element: Element, listener: (width: number) => void): () => void {
  observer ??= new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) listeners.get(target)?.(contentRect.width);
  });
  listeners.set(element, listener);
  observer.observe(element);
  return () => {
    listeners.delete(element);
    observer!.unobserve(element);
  };
}

/** Width of one character by font: all of a monospace font have the same. */
const characterWidths = new Map<string, number>();

function characterWidth(element: Element): number {
  const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(element);
  const font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
  let width = characterWidths.get(font);
  if (width === undefined) {
    const context = new OffscreenCanvas(1, 1).getContext('2d')!;
    context.font = font;
    width = context.measureText('MMMMMMMMMM').width / 10;
    characterWidths.set(font, width);
  }
  return width;
}

/**
 * Fills the width that its parent gives it (`.fitted` in flame.css), so its text has no influence on that width.
 * Put it into an element with a monospace font.
 */
export function FittedName({ name, title = name }: Props) {
  const box = useRef<HTMLSpanElement>(null);
  const [width, setWidth] = useState({ all: 0, character: 1 });
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = (all: number): void =>
      setWidth((before) =>
        before.all === all && before.all > 0 ? before : { all, character: characterWidth(element) },
      );
    measure(element.clientWidth); // before the first paint; the observer reports after it
    return observe(element, measure);
  }, []);
  return (
    <span ref={box} className="fitted" title={title}>
      {fitted(name, width.all, width.character)}
    </span>
  );
}
