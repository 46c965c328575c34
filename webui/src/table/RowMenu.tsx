/** What can be done with a row, at the pointer or under the row. */
import { useEffect, useRef } from 'react';
import type { TableRow } from '../api/types.ts';
import type { Go } from '../location/usePlace.ts';
import { formatMatchers, literal, parseMatchers, withMatcher } from '../selection/matchers.ts';
import type { Place } from '../selection/place.ts';
import { copy } from '../ui/copy.ts';
import { place as placePanel } from '../ui/Popover.tsx';
import { markOf, titleOf } from './marks.ts';

export interface MenuTarget {
  row: TableRow;
  left: number;
  top: number;
  bottom: number;
}

interface Props {
  target: MenuTarget;
  by: readonly string[];
  place: Place;
  go: Go;
  close: () => void;
}

interface Action {
  text: string;
  run: () => void;
}

export function RowMenu({ target, by, place, go, close }: Props) {
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = panel.current!;
    element.showPopover();
    placePanel(element, target);
    element.querySelector<HTMLElement>('button')?.focus();
  }, [target]);

  const move = (event: React.KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const items = [...panel.current!.querySelectorAll<HTMLElement>('button')];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + step + items.length) % items.length].focus();
  };

  return (
    <div
      ref={panel}
      popover="auto"
      className="popover menu"
      role="menu"
      aria-label={`actions for ${titleOf(target.row, by)}`}
      onKeyDown={move}
      onToggle={(event) => event.newState === 'closed' && close()}
    >
      {actionsOf(target.row, by, place, go).map((action) => (
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
      ))}
    </div>
  );
}

function actionsOf(row: TableRow, by: readonly string[], place: Place, go: Go): Action[] {
  const mark = markOf(row, by);
  const name = titleOf(row, by);
  const actions: Action[] = [];
  if (mark !== null) {
    actions.push({
      text: 'Show in the flame graph',
      run: () => go({ mark, node: '', find: '', view: place.view === 'table' ? 'flame' : place.view }),
    });
  }
  if (by.length === 1 && by[0] === 'function') {
    const exactly = `^${literal(row.key['function'] ?? '')}$`;
    actions.push(
      { text: 'Only stacks with this function', run: () => go({ focus: exactly }) },
      {
        text: 'No stacks with this function',
        run: () => go({ ignore: place.ignore === '' ? exactly : `${place.ignore}|${exactly}` }),
      },
      {
        text: 'Which applications run it',
        run: () => go({ focus: exactly, by: 'application', find: '', sort: '-total' }),
      },
    );
  } else if (mark === null) {
    const matchers = parseMatchers(place.select) ?? [];
    const filtered = (operator: '=' | '!='): string =>
      formatMatchers(
        by.reduce(
          (all, label) => withMatcher(all, { label, operator, value: row.key[label] ?? '' }),
          matchers,
        ),
      );
    actions.push(
      { text: `Only ${name}`, run: () => go({ select: filtered('='), by: 'function', find: '' }) },
      { text: 'Only this, same table', run: () => go({ select: filtered('=') }) },
    );
    if (by.length === 1) actions.push({ text: `Without ${name}`, run: () => go({ select: filtered('!=') }) });
  }
  actions.push({ text: 'Copy the name', run: () => void copy(name) });
  return actions;
}
