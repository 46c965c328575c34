/** The actions of a row, at the pointer or under the row. */
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { place as placePanel } from '../ui/Popover.tsx';

export interface MenuTarget {
  left: number;
  top: number;
  bottom: number;
}

/** An action of a row: a link to another page, or a change of this one. */
export type Action = { text: string; href: string } | { text: string; run: () => void };

interface Props {
  target: MenuTarget;
  /** The row's name. */
  title: string;
  actions: readonly Action[];
  close: () => void;
}

export function RowMenu({ target, title, actions, close }: Props) {
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = panel.current!;
    element.showPopover();
    placePanel(element, target);
    element.querySelector<HTMLElement>('button, a')?.focus();
  }, [target]);

  const move = (event: React.KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const items = [...panel.current!.querySelectorAll<HTMLElement>('button, a')];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + step + items.length) % items.length].focus();
  };

  return (
    <div
      ref={panel}
      popover="auto"
      className="popover menu"
      role="menu"
      aria-label={`actions for ${title}`}
      onKeyDown={move}
      onToggle={(event) => event.newState === 'closed' && close()}
    >
      {actions.map((action) =>
        'href' in action ? (
          <Link
            key={action.text}
            role="menuitem"
            href={action.href}
            onClick={() => panel.current?.hidePopover()}
          >
            {action.text}
          </Link>
        ) : (
          <button
            key={action.text}
            type="button"
            role="menuitem"
            onClick={() => {
              action.run();
              panel.current?.hidePopover();
            }}
          >
            {action.text}
          </button>
        ),
      )}
    </div>
  );
}
