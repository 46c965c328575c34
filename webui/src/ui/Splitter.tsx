/** A bar between two panels that changes their widths: by the pointer, by arrow keys; a double click resets it. */
import type { KeyboardEvent, PointerEvent } from 'react';

interface Props {
  /** Names it: `width of the table`. */
  label: string;
  /** Percent of the width that the left panel has. */
  value: number;
  initial: number;
  onChange: (value: number) => void;
}

const LEAST = 20;
const MOST = 80;
const STEP = 2;

export function Splitter({ label, value, initial, onChange }: Props) {
  const to = (next: number): void => onChange(Math.round(Math.min(MOST, Math.max(LEAST, next)) * 10) / 10);
  const onPointerMove = (event: PointerEvent<HTMLElement>): void => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const { left, width } = event.currentTarget.parentElement!.getBoundingClientRect();
    to((100 * (event.clientX - left)) / width);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowLeft') to(value - STEP);
    else if (event.key === 'ArrowRight') to(value + STEP);
    else if (event.key === 'Home') to(LEAST);
    else if (event.key === 'End') to(MOST);
    else return;
    event.preventDefault();
  };
  return (
    <div
      className="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(value)}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      title="drag, or use the arrow keys; a double click resets the width"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
      onDoubleClick={() => onChange(initial)}
      onKeyDown={onKeyDown}
    />
  );
}
