/** Rows of a comparison: the amount on both sides, and the change with its interval around zero. */
import { useState } from 'react';
import { navigate } from 'wouter/use-browser-location';
import { FUNCTION, linkTo, type ComparePlace } from '../../app/pages.ts';
import type { CompareGo } from '../../app/usePlace.ts';
import { Name } from '../../table/Cells.tsx';
import { ROW_HEIGHT, useRows } from '../../table/useRows.ts';
import { RowMenu, type MenuTarget } from '../../table/RowMenu.tsx';
import {
  ARROWS,
  judged,
  ratio,
  side,
  signed,
  UNIT_WORDS,
  type ChangedRow,
  type Order,
  type Unit,
} from './change.ts';
import { actionsOfChange } from './changeActions.ts';

interface Props {
  rows: readonly ChangedRow[];
  rowsTotal: number;
  by: readonly string[];
  unit: Unit;
  /** Names of the columns: what was before and after. */
  sides: readonly [after: string, before: string];
  place: ComparePlace;
  go: CompareGo;
  missing: ReadonlyMap<string, string>;
}

export function DiffTable({ rows, rowsTotal, by, unit, sides, place, go, missing }: Props) {
  const [hovered, setHovered] = useState<number | null>(null);
  const [menu, setMenu] = useState<(MenuTarget & { shown: ChangedRow }) | null>(null);
  const open = ({ row }: ChangedRow): void => {
    if (row.function_id != null) navigate(linkTo(FUNCTION, place, {}, row.function_id));
  };
  const grid = useRows({
    count: rows.length,
    open: (index) => open(rows[index]),
    menu: (index, { left, top, bottom }) => setMenu({ shown: rows[index], left: left + 24, top, bottom }),
    readMore: null,
  });
  const full = farthest(rows);
  const details = rows[Math.min(hovered ?? grid.current, rows.length - 1)];
  const heading = (order: Order, text: string, title?: string) => {
    const sorted =
      place.sort === order ? 'ascending' : place.sort === `-${order}` ? 'descending' : ('none' as const);
    const next = order === 'name' ? 'name' : place.sort === `-${order}` ? order : `-${order}`;
    return (
      <span role="columnheader" className={order === 'name' ? '' : 'number'} aria-sort={sorted}>
        <button type="button" className="sort" title={title} onClick={() => go({ sort: next }, 'replace')}>
          <span className="side-name">{text}</span>
          <span aria-hidden="true">
            {sorted === 'descending' ? ' ↓' : sorted === 'ascending' ? ' ↑' : ''}
          </span>
        </button>
      </span>
    );
  };
  return (
    <>
      <div
        ref={grid.scroller}
        className="rows diff"
        role="grid"
        aria-label={`changes by ${by.join(', ')}`}
        aria-rowcount={rowsTotal + 1}
        aria-activedescendant={`row-${grid.current}`}
        tabIndex={0}
        onKeyDown={grid.onKeyDown}
        onMouseLeave={() => setHovered(null)}
      >
        <div role="rowgroup" className="head">
          <div role="row" className="line" aria-rowindex={1}>
            {heading('name', by.join(' · '))}
            {heading('before', sides[1], 'before')}
            {heading('after', sides[0], 'after')}
            {heading('change', `change (${UNIT_WORDS[unit]})`, 'with its interval')}
            {heading('ratio', '×')}
          </div>
        </div>
        <div role="rowgroup" style={{ height: grid.height, position: 'relative' }}>
          {grid.visible.map(({ index, start }) => {
            const shown = rows[index];
            const { row, change } = shown;
            return (
              <div
                key={index}
                id={`row-${index}`}
                data-index={index}
                role="row"
                aria-rowindex={index + 2}
                className={`line body ${change.verdict}${index === grid.current ? ' active' : ''}`}
                style={{ transform: `translateY(${start}px)`, height: ROW_HEIGHT }}
                onMouseEnter={() => setHovered(index)}
                onClick={() => {
                  grid.setActive(index);
                  open(shown);
                }}
                onContextMenu={(event) => {
                  event.preventDefault();
                  grid.setActive(index);
                  setMenu({ shown, left: event.clientX, top: event.clientY, bottom: event.clientY });
                }}
              >
                <Name row={row} by={by} missing={missing} low_confidence={row.low_confidence} />
                <span role="gridcell" className="number">
                  {side(change.before, unit)}
                </span>
                <span role="gridcell" className="number">
                  {side(change.after, unit)}
                </span>
                <ChangeCell shown={shown} unit={unit} full={full} />
                <span role="gridcell" className="number times">
                  {ratio(change)}
                </span>
              </div>
            );
          })}
        </div>
      </div>
      {details && <Details shown={details} unit={unit} />}
      {menu && (
        <RowMenu
          target={menu}
          title={menu.shown.name}
          actions={actionsOfChange(menu.shown.row, by, place, go)}
          close={() => {
            setMenu(null);
            grid.scroller.current?.focus();
          }}
        />
      )}
    </>
  );
}

function ChangeCell({ shown: { row, change }, unit, full }: { shown: ChangedRow; unit: Unit; full: number }) {
  const at = (delta: number): number => 50 + (50 * Math.max(-full, Math.min(full, delta))) / full;
  const [lo, hi] = [change.lo ?? change.delta, change.hi ?? change.delta];
  const sentence = judged(row, change, unit);
  return (
    <span role="gridcell" className="change" title={sentence}>
      <span className="axis" aria-hidden="true">
        <i
          className="bar"
          style={{
            left: `${Math.min(50, at(change.delta))}%`,
            width: `${Math.abs(at(change.delta) - 50)}%`,
          }}
        />
        <i
          className={rangeClass(lo, hi, full)}
          style={{ left: `${at(lo)}%`, width: `${at(hi) - at(lo)}%` }}
        />
      </span>
      <span className="arrow" aria-hidden="true">
        {ARROWS[change.verdict]}
      </span>
      <b aria-hidden="true">{signed(change.delta, unit)}</b>
      <span className="sr-only">{sentence}</span>
    </span>
  );
}

function Details({ shown: { row, name, change }, unit }: { shown: ChangedRow; unit: Unit }) {
  return (
    <div className="details row-details">
      <span className="name code">{name}</span>
      <span className="numbers">
        {side(change.before, unit)} → <b>{side(change.after, unit)}</b>
      </span>
      <span className="more-numbers">
        <span>{judged(row, change, unit)}</span>
        {row.low_confidence && <span className="warn">One or two profiles contribute most of one side.</span>}
      </span>
    </div>
  );
}

/** An end beyond the axis is drawn without its mark. */
function rangeClass(lo: number, hi: number, full: number): string {
  return ['range', lo < -full ? 'open-low' : '', hi > full ? 'open' : ''].filter(Boolean).join(' ');
}

/** The value at the axis' ends; rows with data from few profiles may exceed it. */
function farthest(rows: readonly ChangedRow[]): number {
  const reach = ({ row, change: { delta, lo, hi } }: ChangedRow): number =>
    Math.max(Math.abs(delta), ...(row.low_confidence ? [] : [Math.abs(lo ?? 0), Math.abs(hi ?? 0)]));
  return rows.reduce((most, row) => Math.max(most, reach(row)), 0) || 1;
}
