/** A button and its popover in the browser's top layer: Esc and a click outside close it. */
import { useId, useLayoutEffect, useRef, useState, type ReactNode } from 'react';

interface Props {
  /** The button's content. */
  button: ReactNode;
  buttonClass?: string;
  /** Names the opened panel (and the button, if it has an icon only). */
  label: string;
  title?: string;
  /** At the window's lower edge, as wide as the window, instead of beside the button. */
  sheet?: boolean;
  /** Rendered only while open, with the focus on its `data-first` or its first control; `close` puts the focus back on the button. */
  children: (close: () => void) => ReactNode;
}

export function Popover({ button, buttonClass, label, title, sheet = false, children }: Props) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  useLayoutEffect(() => {
    if (!open) return;
    const element = panel.current!;
    const first =
      element.querySelector<HTMLElement>('[data-first]') ??
      element.querySelector<HTMLElement>('input, select, button, a');
    first?.focus();
    if (sheet) return;
    // Repositioned whenever its size changes: its content may still be loading.
    const sizes = new ResizeObserver(() => place(element, opener.current!.getBoundingClientRect()));
    sizes.observe(element);
    place(element, opener.current!.getBoundingClientRect());
    return () => sizes.disconnect();
  }, [open, sheet]);

  return (
    <>
      <button
        ref={opener}
        type="button"
        className={buttonClass}
        popoverTarget={id}
        title={title}
        aria-haspopup="dialog"
        aria-expanded={open}
      >
        {button}
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        className={sheet ? 'popover sheet' : 'popover'}
        role="dialog"
        aria-label={label}
        onToggle={(event) => setOpen(event.newState === 'open')}
      >
        {open && children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}

/** Below the anchor, or above it if there is no room; always within the window. */
export function place(panel: HTMLElement, anchor: { left: number; top: number; bottom: number }): void {
  const margin = 8;
  const { width, height } = panel.getBoundingClientRect();
  const left = Math.max(margin, Math.min(anchor.left, innerWidth - width - margin));
  const below = anchor.bottom + 4;
  const above = anchor.top - height - 4;
  const top = below + height > innerHeight - margin && above > margin ? above : below;
  panel.style.left = `${left}px`;
  panel.style.top = `${top}px`;
}
