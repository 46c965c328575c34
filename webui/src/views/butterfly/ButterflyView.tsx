/**
 * Callers at the left, the function in the middle, callees at the right; bars are shares of the function's total.
 * A click steps to the neighbour's page; Shift and a click, or its button, keeps the stacks that contain it.
 */
import type { MouseEvent, ReactNode } from 'react';
import { Link } from 'wouter';
import type { Measure } from '../../estimates/measure.ts';
import { percent, plural } from '../../selection/numbers.ts';
import { EstimateText } from '../../ui/EstimateText.tsx';
import { FittedName } from '../../ui/FittedName.tsx';
import type { Butterfly, Neighbour } from './butterfly.ts';
import './butterfly.css';

interface Props {
  butterfly: Butterfly;
  measure: Measure;
  /** The function itself. */
  middle: ReactNode;
  linkOf: (id: number) => string;
  onKeep: (neighbour: Neighbour) => void;
  /** Shows the neighbours that were left out; null: all are shown, or no more can be. */
  onMore: (() => void) | null;
}

export function ButterflyView({ butterfly, measure, middle, linkOf, onKeep, onMore }: Props) {
  const { callers, callees, moreCallers, moreCallees } = butterfly;
  const side = { measure, linkOf, onKeep, onMore };
  return (
    <div className="butterfly">
      <Side name="Callers" none="No callers." rows={callers} more={moreCallers} {...side} />
      <div className="butterfly-middle">{middle}</div>
      <Side name="Callees" none="It calls no other functions." rows={callees} more={moreCallees} {...side} />
    </div>
  );
}

interface SideProps extends Pick<Props, 'measure' | 'linkOf' | 'onKeep' | 'onMore'> {
  name: string;
  none: string;
  rows: readonly Neighbour[];
  more: number;
}

function Side({ name, none, rows, more, measure, linkOf, onKeep, onMore }: SideProps) {
  return (
    <section className="butterfly-side" aria-label={name}>
      <h3>{name}</h3>
      {rows.length === 0 && <p className="note">{none}</p>}
      <ul>
        {rows.map((row) => (
          <li key={row.id ?? 'none'}>
            <span className="butterfly-bar" style={{ width: `${100 * Math.min(1, row.ofFunction)}%` }} />
            <span className="butterfly-name">
              <Name row={row} linkOf={linkOf} onKeep={onKeep} />
            </span>
            <span className="butterfly-share" title="share of the function’s total">
              {percent(row.ofFunction, 1)}
            </span>
            <span className="butterfly-amount">
              <EstimateText estimate={row.amount} measure={measure} />
            </span>
            {row.id !== null && !row.isItself && (
              <button
                type="button"
                className="icon keep"
                title={`Keep stacks containing ${row.name}`}
                aria-label={`keep stacks containing ${row.name}`}
                onClick={() => onKeep(row)}
              >
                ⊃
              </button>
            )}
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p className="note">
          {plural(more, 'more', 'more')}{' '}
          {onMore !== null && (
            <button type="button" className="link" onClick={onMore}>
              Show more
            </button>
          )}
        </p>
      )}
    </section>
  );
}

function Name({ row, linkOf, onKeep }: { row: Neighbour } & Pick<Props, 'linkOf' | 'onKeep'>) {
  if (row.id === null) return <span className="note">none: the stacks begin here</span>;
  if (row.isItself) return <span className="note">itself (recursion)</span>;
  const onClick = (event: MouseEvent): void => {
    if (!event.shiftKey) return;
    event.preventDefault();
    onKeep(row);
  };
  return (
    <Link href={linkOf(row.id)} className="code" onClick={onClick}>
      <FittedName
        name={row.name}
        title={`${row.name}\n${row.file === '' ? row.binary : `${row.file}, ${row.binary}`}\nShift and click: keep stacks containing it`}
      />
    </Link>
  );
}
