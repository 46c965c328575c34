/** Rows of a comparison: share on both sides, and the change with its interval around zero. */
import { useState } from 'react';
import type { DiffRow } from '../../api/types.ts';
import { navigate } from 'wouter/use-browser-location';
import { FUNCTION, linkTo, type ComparePlace } from '../../app/pages.ts';
import { percent } from '../../selection/numbers.ts';
import { Name } from '../../table/Cells.tsx';
import { titleOf } from '../../table/marks.ts';
import { ROW_HEIGHT, useRows } from '../../table/useRows.ts';
import { ARROWS, judged, points, ratio, verdictOf } from './change.ts';

interface Props {
  rows: readonly DiffRow[];
  rowsTotal: number;
  by: readonly string[];
  place: ComparePlace;
  missing: ReadonlyMap<string, string>;
}

export function DiffTable({ rows, rowsTotal, by, place, missing }: Props) {
  const [hovered, setHovered] = useState<number | null>(null);
  const open = (row: DiffRow): void => {
    const id = row.function_id;
    if (id != null) navigate(linkTo(FUNCTION, place, {}, id));
  };
  const grid = useRows({
    count: rows.length,
    open: (index) => open(rows[index]),
    readMore: null,
  });
  const full = farthest(rows);
  const shown = rows[Math.min(hovered ?? grid.current, rows.length - 1)];
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
            <span role="columnheader">{by.join(' · ')}</span>
            <span role="columnheader" className="number">
              base
            </span>
            <span role="columnheader" className="number">
              selection
            </span>
            <span role="columnheader" className="number" title="in percentage points, with its interval">
              change, points
            </span>
          </div>
        </div>
        <div role="rowgroup" style={{ height: grid.height, position: 'relative' }}>
          {grid.visible.map(({ index, start }) => {
            const row = rows[index];
            return (
              <div
                key={index}
                id={`row-${index}`}
                data-index={index}
                role="row"
                aria-rowindex={index + 2}
                className={`line body ${verdictOf(row)}${index === grid.current ? ' active' : ''}`}
                style={{ transform: `translateY(${start}px)`, height: ROW_HEIGHT }}
                onMouseEnter={() => setHovered(index)}
                onClick={() => {
                  grid.setActive(index);
                  open(row);
                }}
              >
                <Name row={row} by={by} missing={missing} low_confidence={row.low_confidence} />
                <span role="gridcell" className="number">
                  {percent(row.b_share)}
                </span>
                <span role="gridcell" className="number">
                  {percent(row.a_share)}
                </span>
                <Change row={row} full={full} />
              </div>
            );
          })}
        </div>
      </div>
      {shown && <Details row={shown} by={by} />}
    </>
  );
}

function Change({ row, full }: { row: DiffRow; full: number }) {
  const at = (delta: number): number => 50 + (50 * Math.max(-full, Math.min(full, delta))) / full;
  const verdict = verdictOf(row);
  const [lo, hi] = [row.lo ?? row.delta, row.hi ?? row.delta];
  return (
    <span role="gridcell" className="change" title={judged(row)}>
      <span className="axis" aria-hidden="true">
        <i
          className="bar"
          style={{ left: `${Math.min(50, at(row.delta))}%`, width: `${Math.abs(at(row.delta) - 50)}%` }}
        />
        <i
          className={rangeClass(lo, hi, full)}
          style={{ left: `${at(lo)}%`, width: `${at(hi) - at(lo)}%` }}
        />
      </span>
      <span className="arrow" aria-hidden="true">
        {ARROWS[verdict]}
      </span>
      <b aria-hidden="true">{points(row.delta)}</b>
      <span className="bracket">{ratio(row)}</span>
      <span className="sr-only">{judged(row)}</span>
    </span>
  );
}

function Details({ row, by }: { row: DiffRow; by: readonly string[] }) {
  const title = titleOf(row, by);
  return (
    <div className="details row-details">
      <span className="name code" title={title}>
        {title}
      </span>
      <span className="numbers">
        {percent(row.b_share)} → <b>{percent(row.a_share)}</b>
      </span>
      <span className="more-numbers">
        <span>{judged(row)}</span>
        {row.low_confidence && <span className="warn">One or two visits contribute most of one side.</span>}
      </span>
    </div>
  );
}

/** An end beyond the axis is drawn without its mark. */
function rangeClass(lo: number, hi: number, full: number): string {
  return ['range', lo < -full ? 'open-low' : '', hi > full ? 'open' : ''].filter(Boolean).join(' ');
}

/** The value at the axis' ends; rows with data from few visits may exceed it. */
function farthest(rows: readonly DiffRow[]): number {
  const reach = (row: DiffRow): number =>
    Math.max(
      Math.abs(row.delta),
      row.low_confidence ? 0 : Math.abs(row.lo ?? 0),
      row.low_confidence ? 0 : Math.abs(row.hi ?? 0),
    );
  return rows.reduce((most, row) => Math.max(most, reach(row)), 0) || 1;
}
