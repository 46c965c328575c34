/** The sorted table, its rows drawn only where they can be seen. It says everything the flame graph does. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import type { SelectionEcho, TableRow } from '../api/types.ts';
import type { Go } from '../location/usePlace.ts';
import { formatMatchers, parseMatchers, withMatcher } from '../selection/matchers.ts';
import { count } from '../selection/numbers.ts';
import type { Place } from '../selection/place.ts';
import { Amount, Name } from './Cells.tsx';
import { Heading } from './Heading.tsx';
import { markOf, titleOf } from './marks.ts';
import { RowMenu, type MenuTarget } from './RowMenu.tsx';

const ROW_HEIGHT = 30;

interface Props {
  rows: readonly TableRow[];
  rowsTotal: number;
  by: readonly string[];
  selection: SelectionEcho;
  place: Place;
  go: Go;
  /** Reasons for missing names, by binary. */
  missing: ReadonlyMap<string, string>;
  /** More rows are there than were read; called when the end comes near. */
  readMore: (() => void) | null;
}

export function FunctionTable({ rows, rowsTotal, by, selection, place, go, missing, readMore }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const [menu, setMenu] = useState<MenuTarget | null>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
  });
  const visible = virtual.getVirtualItems();
  const lastVisible = visible.at(-1)?.index ?? 0;
  const heaviest =
    rows.reduce(
      (most, r) => Math.max(most, place.sort.endsWith('total') ? r.total_share : r.self_share),
      0,
    ) || 1;
  const current = Math.min(active, rows.length - 1);

  useEffect(() => {
    if (readMore !== null && lastVisible >= rows.length - 20) readMore();
  }, [readMore, lastVisible, rows.length]);

  const open = (row: TableRow): void => {
    const mark = markOf(row, by);
    if (mark !== null)
      go({
        mark: mark === place.mark ? '' : mark,
        node: '',
        find: '',
        view: place.view === 'table' ? 'both' : place.view,
      });
    else {
      const matchers = parseMatchers(place.select) ?? [];
      const select = by.reduce(
        (all, label) => withMatcher(all, { label, operator: '=', value: row.key[label] ?? '' }),
        matchers,
      );
      go({ select: formatMatchers(select), by: 'function', find: '' });
    }
  };

  const moveTo = (index: number): void => {
    const to = Math.max(0, Math.min(rows.length - 1, index));
    setActive(to);
    virtual.scrollToIndex(to);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || rows.length === 0) return;
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
        moveTo(rows.length - 1);
        break;
      case 'Enter':
        open(rows[current]);
        break;
      case '.': {
        const at = scroller.current!.querySelector(`[data-index="${current}"]`)?.getBoundingClientRect();
        if (at) setMenu({ row: rows[current], left: at.left + 24, top: at.top, bottom: at.bottom });
        break;
      }
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <>
      <div
        ref={scroller}
        className="rows"
        role="grid"
        aria-label={`table by ${by.join(', ')}`}
        aria-rowcount={rowsTotal + 1}
        aria-activedescendant={rows.length > 0 ? `row-${current}` : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <div role="rowgroup" className="head">
          <div role="row" className="line" aria-rowindex={1}>
            <Heading sort="name" place={place} go={go}>
              {by.join(' · ')}
            </Heading>
            {by.includes('function') && (
              <span role="columnheader" className="binary">
                binary
              </span>
            )}
            <Heading sort="self" place={place} go={go} number title="time in the function itself">
              self
            </Heading>
            <Heading
              sort="total"
              place={place}
              go={go}
              number
              title="time in the function and in all it calls"
            >
              total
            </Heading>
            <span role="columnheader" className="number machines" title="machines it was seen on">
              machines
            </span>
          </div>
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {visible.map(({ index, start }) => {
            const row = rows[index];
            const mark = markOf(row, by);
            return (
              <div
                key={index}
                id={`row-${index}`}
                data-index={index}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={mark !== null && mark === place.mark}
                className={index === current ? 'line body active' : 'line body'}
                style={{ transform: `translateY(${start}px)`, height: ROW_HEIGHT }}
                onClick={() => {
                  setActive(index);
                  open(row);
                }}
                onContextMenu={(event) => {
                  event.preventDefault();
                  setActive(index);
                  setMenu({ row, left: event.clientX, top: event.clientY, bottom: event.clientY });
                }}
              >
                <Name row={row} by={by} missing={missing} />
                {by.includes('function') && (
                  <span role="gridcell" className="binary code" title={row.key['binary']}>
                    {row.key['binary']}
                  </span>
                )}
                <Amount
                  share={row.self_share}
                  seconds={row.self_seconds}
                  units={row.self}
                  heaviest={heaviest}
                  bar={!place.sort.endsWith('total')}
                  unit={selection.unit}
                />
                <Amount
                  share={row.total_share}
                  seconds={row.total_seconds}
                  units={row.total}
                  heaviest={heaviest}
                  bar={place.sort.endsWith('total')}
                  unit={selection.unit}
                />
                <span role="gridcell" className="number machines">
                  {count(row.machines)}
                </span>
                <span role="gridcell" className="more">
                  <button
                    type="button"
                    tabIndex={-1}
                    aria-label={`actions for ${titleOf(row, by)}`}
                    title="actions ( . )"
                    onClick={(event) => {
                      event.stopPropagation();
                      const at = event.currentTarget.getBoundingClientRect();
                      setMenu({ row, left: at.left, top: at.top, bottom: at.bottom });
                    }}
                  >
                    ⋯
                  </button>
                </span>
              </div>
            );
          })}
        </div>
      </div>
      {menu && (
        <RowMenu
          target={menu}
          by={by}
          place={place}
          go={go}
          close={() => {
            setMenu(null);
            scroller.current?.focus();
          }}
        />
      )}
    </>
  );
}
