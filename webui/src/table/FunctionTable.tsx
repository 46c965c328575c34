/** The sorted table. It contains all information of the flame graph. */
import { Fragment, useRef, useState } from 'react';
import type { TableRow } from '../api/types.ts';
import type { Estimate } from '../estimates/interval.ts';
import { amountOf, MEASURE_NAMES, measured, type Ground, type Measure } from '../estimates/measure.ts';
import { machinesColumn, seenIn, type Seen } from '../estimates/words.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import { formatMatchers, parseMatchers, withMatcher } from '../selection/matchers.ts';
import { count, duration } from '../selection/numbers.ts';
import type { ExplorePlace as Place, Sort } from '../app/pages.ts';
import { Amount, Name, Range } from './Cells.tsx';
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
/** A pointer that rests on a row for this long is about to open it. */
const REST_MS = 250;

interface Props {
  rows: readonly TableRow[];
  rowsTotal: number;
  by: readonly string[];
  ground: Ground;
  measure: Measure;
  /** Whether cells or profiles were read: merged cells count machines approximately. */
  path: Seen['path'];
  place: Place;
  go: Go;
  /** Reasons for missing names, by binary. */
  missing: ReadonlyMap<string, string>;
  /** Intervals in columns of their own. */
  intervals: boolean;
  /** Fetches more rows near the end of the list; null if there are none. */
  readMore: (() => void) | null;
  /** The reader is about to sort. */
  onIntent: () => void;
  /** The pointer rests on a row of this function. */
  onRest: (functionId: number) => void;
}

export function FunctionTable(props: Props) {
  const { rows, rowsTotal, by, ground, measure, path, place, go, missing, intervals, readMore } = props;
  const [menu, setMenu] = useState<(MenuTarget & { row: TableRow }) | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const rest = useRef(0);

  const open = (row: TableRow): void => {
    const id = row.function_id;
    const mark = markOf(row, by);
    if (id != null) {
      // From one function to the next is no step of the history: Back closes the panel.
      go({ fn: id === place.fn ? 0 : id }, place.fn === 0 || id === place.fn ? 'push' : 'replace');
    } else if (mark !== null)
      go({
        mark: mark === place.mark ? '' : mark,
        node: '',
        find: '',
        view: place.view === 'table' ? 'both' : place.view,
      });
    else {
      const matchers = parseMatchers(place.select) ?? [];
      const labels = by.filter((key) => !isOfFrames([key]) && key !== 'line');
      const select = labels.reduce(
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
  const withBinary = by.includes('function') && !by.includes('binary');

  const enter = (index: number): void => {
    setHovered(index);
    clearTimeout(rest.current);
    const id = rows[index].function_id;
    if (id != null) rest.current = window.setTimeout(() => props.onRest(id), REST_MS);
  };
  const leave = (): void => {
    setHovered(null);
    clearTimeout(rest.current);
  };

  return (
    <>
      <div
        ref={grid.scroller}
        className={`rows cells columns-${columns.length}${intervals ? ' with-intervals' : ''}`}
        role="grid"
        aria-label={`table by ${by.join(', ')}`}
        aria-rowcount={rowsTotal + 1}
        aria-activedescendant={rows.length > 0 ? `row-${grid.current}` : undefined}
        tabIndex={0}
        onKeyDown={grid.onKeyDown}
        onMouseLeave={leave}
      >
        <div role="rowgroup" className="head" onPointerEnter={props.onIntent} onFocus={props.onIntent}>
          <div role="row" className="line" aria-rowindex={1}>
            {by.map((key, k) =>
              k === 0 ? (
                <Heading key={key} sort="name" current={sort} go={go} className="name">
                  {key}
                </Heading>
              ) : (
                <span key={key} role="columnheader" className="name">
                  {key}
                </span>
              ),
            )}
            {withBinary && (
              <span role="columnheader" className="binary">
                binary
              </span>
            )}
            {columns.map((column) => (
              <Fragment key={column}>
                <Heading
                  sort={column}
                  current={sort}
                  go={go}
                  className="number amount"
                  title={MEANINGS[column]}
                >
                  {columns.length === 1 ? MEASURE_NAMES[measure] : column}
                </Heading>
                {intervals && (
                  <span role="columnheader" className="number interval" title={`95 % interval of ${column}`}>
                    95 %
                  </span>
                )}
              </Fragment>
            ))}
            <span role="columnheader" className="number behind" title="profiles with samples of the row">
              profiles
            </span>
            <span role="columnheader" className="number behind" title="machines with samples of the row">
              seen on
            </span>
            <span role="columnheader" className="more">
              <span className="sr-only">actions</span>
            </span>
          </div>
        </div>
        <div role="rowgroup" style={{ height: grid.height, position: 'relative' }}>
          {grid.visible.map(({ index, start }) => {
            const row = rows[index];
            const mark = markOf(row, by);
            const seen = { ...row, path };
            const chosen =
              (row.function_id != null && row.function_id === place.fn) ||
              (mark !== null && mark === place.mark);
            return (
              <div
                key={index}
                id={`row-${index}`}
                data-index={index}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={chosen}
                className={index === grid.current ? 'line body active' : 'line body'}
                style={{ transform: `translateY(${start}px)`, height: ROW_HEIGHT }}
                onMouseEnter={() => enter(index)}
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
                {by.map((key, k) => (
                  <Name
                    key={key}
                    row={row}
                    by={[key]}
                    missing={missing}
                    low_confidence={k === by.length - 1 && row.low_confidence}
                  />
                ))}
                {withBinary && (
                  <span role="gridcell" className="binary code" title={row.key['binary']}>
                    {row.key['binary']}
                  </span>
                )}
                {columns.map((column, c) => (
                  <Fragment key={column}>
                    <Amount
                      column={columns.length === 1 ? '' : column}
                      estimate={estimates[c][index]}
                      measure={measure}
                      full={full[c]}
                      low_confidence={row.low_confidence}
                      sorted={sort.endsWith(column)}
                    />
                    {intervals && (
                      <Range
                        estimate={estimates[c][index]}
                        measure={measure}
                        otherwise={observed(
                          column === 'self' ? row.self_seconds : row.total_seconds,
                          measure,
                        )}
                      />
                    )}
                  </Fragment>
                ))}
                <span role="gridcell" className="number behind" title={seenIn(seen)}>
                  {row.visits === null ? '–' : count(row.visits)}
                </span>
                <span role="gridcell" className="number behind" title={seenIn(seen)}>
                  {machinesColumn(seen)}
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
