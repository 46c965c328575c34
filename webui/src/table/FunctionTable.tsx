/** The sorted table. It contains all information of the flame graph. */
import { useState } from 'react';
import type { TableRow } from '../api/types.ts';
import type { Estimate } from '../estimates/interval.ts';
import { amountOf, MEASURE_NAMES, measured, type Ground, type Measure } from '../estimates/measure.ts';
import { machinesColumn, seenIn, type Seen } from '../estimates/words.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import { formatMatchers, parseMatchers, withMatcher } from '../selection/matchers.ts';
import { count, duration } from '../selection/numbers.ts';
import type { ExplorePlace as Place, Sort } from '../app/pages.ts';
import { Amount, Name } from './Cells.tsx';
import { Heading } from './Heading.tsx';
import { isOfFrames, markOf, titleOf } from './marks.ts';
import { RowDetails } from './RowDetails.tsx';
import { actionsOfRow } from './rowActions.ts';
import { RowMenu, type MenuTarget } from './RowMenu.tsx';
import { ROW_HEIGHT, useRows } from './useRows.ts';

type Column = 'self' | 'total';
const MEANINGS: Readonly<Record<Column, string>> = {
  self: 'time in the function’s own code',
  total: 'time in the function and its callees',
};

interface Props {
  rows: readonly TableRow[];
  rowsTotal: number;
  by: readonly string[];
  ground: Ground;
  measure: Measure;
  /** Whether cells or visits were read: merged cells count machines approximately. */
  path: Seen['path'];
  place: Place;
  go: Go;
  /** Reasons for missing names, by binary. */
  missing: ReadonlyMap<string, string>;
  /** Fetches more rows near the end of the list; null if there are none. */
  readMore: (() => void) | null;
}

export function FunctionTable(props: Props) {
  const { rows, rowsTotal, by, ground, measure, path, place, go, missing, readMore } = props;
  const [menu, setMenu] = useState<(MenuTarget & { row: TableRow }) | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);

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

  const grid = useRows({
    count: rows.length,
    open: (index) => open(rows[index]),
    menu: (index, { left, top, bottom }) => setMenu({ row: rows[index], left: left + 24, top, bottom }),
    readMore,
  });
  // For applications and machines self and total are equal, because they have whole stacks.
  const columns: Column[] = isOfFrames(by) ? ['self', 'total'] : ['self'];
  const sort = columns.length === 1 ? (place.sort.replace('total', 'self') as Sort) : place.sort;
  const estimates = columns.map((column) =>
    rows.map((row) => measured(amountOf(row, column), measure, ground)),
  );
  const full = estimates.map(widest);
  const shown = rows[Math.min(hovered ?? grid.current, rows.length - 1)];

  return (
    <>
      <div
        ref={grid.scroller}
        className={`rows columns-${columns.length}`}
        role="grid"
        aria-label={`table by ${by.join(', ')}`}
        aria-rowcount={rowsTotal + 1}
        aria-activedescendant={rows.length > 0 ? `row-${grid.current}` : undefined}
        tabIndex={0}
        onKeyDown={grid.onKeyDown}
        onMouseLeave={() => setHovered(null)}
      >
        <div role="rowgroup" className="head">
          <div role="row" className="line" aria-rowindex={1}>
            <Heading sort="name" current={sort} go={go}>
              {by.join(' · ')}
            </Heading>
            {by.includes('function') && (
              <span role="columnheader" className="binary">
                binary
              </span>
            )}
            {columns.map((column) => (
              <Heading key={column} sort={column} current={sort} go={go} number title={MEANINGS[column]}>
                {columns.length === 1 ? MEASURE_NAMES[measure] : column}
              </Heading>
            ))}
            <span
              role="columnheader"
              className="number behind"
              title="visits and machines with samples of the row"
            >
              visits <span className="bracket">machines</span>
            </span>
          </div>
        </div>
        <div role="rowgroup" style={{ height: grid.height, position: 'relative' }}>
          {grid.visible.map(({ index, start }) => {
            const row = rows[index];
            const mark = markOf(row, by);
            const seen = { ...row, path };
            return (
              <div
                key={index}
                id={`row-${index}`}
                data-index={index}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={mark !== null && mark === place.mark}
                className={index === grid.current ? 'line body active' : 'line body'}
                style={{ transform: `translateY(${start}px)`, height: ROW_HEIGHT }}
                onMouseEnter={() => setHovered(index)}
                onClick={() => {
                  grid.setActive(index);
                  open(row);
                }}
                onContextMenu={(event) => {
                  event.preventDefault();
                  grid.setActive(index);
                  setMenu({ row, left: event.clientX, top: event.clientY, bottom: event.clientY });
                }}
              >
                <Name row={row} by={by} missing={missing} low_confidence={row.low_confidence} />
                {by.includes('function') && (
                  <span role="gridcell" className="binary code" title={row.key['binary']}>
                    {row.key['binary']}
                  </span>
                )}
                {columns.map((column, c) => (
                  <Amount
                    key={column}
                    column={columns.length === 1 ? '' : column}
                    estimate={estimates[c][index]}
                    measure={measure}
                    full={full[c]}
                    low_confidence={row.low_confidence}
                    sorted={sort.endsWith(column)}
                    aside={observed(column === 'self' ? row.self_seconds : row.total_seconds, measure)}
                  />
                ))}
                <span role="gridcell" className="number behind" title={seenIn(seen)}>
                  {row.visits === null ? '–' : count(row.visits)}
                  <span className="bracket">{machinesColumn(seen)}</span>
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
      {shown && <RowDetails row={shown} by={by} ground={ground} measure={measure} path={path} />}
      {menu && (
        <RowMenu
          target={menu}
          title={titleOf(menu.row, by)}
          actions={actionsOfRow(menu.row, by, rows, place, go)}
          close={() => {
            setMenu(null);
            grid.scroller.current?.focus();
          }}
        />
      )}
    </>
  );
}

/** The sampled CPU time, beside shares without an estimate. */
function observed(seconds: number | null, measure: Measure): string {
  return measure === 'share' && seconds !== null ? duration(seconds) : '';
}

/** The value at full width of a column: the largest upper bound, at most twice the largest value. */
function widest(estimates: readonly (Estimate | null)[]): number {
  const most = (of: (estimate: Estimate) => number): number =>
    estimates.reduce((top, estimate) => (estimate === null ? top : Math.max(top, of(estimate))), 0);
  const heaviest = most(({ value }) => value);
  const farthest = most(({ hi }) => hi ?? 0);
  return Math.max(heaviest, Math.min(farthest, 2 * heaviest)) || 1;
}
