/** Columns that the tables of reports share. */
import { Link } from 'wouter';
import type { Estimate } from '../../estimates/interval.ts';
import { count } from '../../selection/numbers.ts';
import type { Column } from '../../ui/DataTable.tsx';
import { range, write, type Unit } from '../../views/chart/quantity.ts';

/** A name, linked to its page if it has one. */
export function nameColumn<Row>(
  name: string,
  valueOf: (row: Row) => string,
  hrefOf?: (row: Row) => string | null,
): Column<Row> {
  return {
    name,
    sortBy: valueOf,
    cell: (row) => {
      const text = valueOf(row) || 'not known';
      const href = valueOf(row) === '' ? null : (hrefOf?.(row) ?? null);
      return <span className="wrap">{href === null ? text : <Link href={href}>{text}</Link>}</span>;
    },
  };
}

export function figureColumn<Row>(
  name: string,
  figureOf: (row: Row) => Estimate | null,
  unit: Unit,
  title?: string,
): Column<Row> {
  return {
    name,
    number: true,
    ...(title === undefined ? {} : { title }),
    sortBy: (row) => figureOf(row)?.value ?? null,
    cell: (row) => {
      const figure = figureOf(row);
      if (figure === null) return <span title="no figure">–</span>;
      return (
        <span className="estimate">
          <b>{write(figure.value, unit)}</b> <span className="bracket">{range(figure, unit)}</span>
        </span>
      );
    },
  };
}

/** Values without an interval. */
export function numberColumn<Row>(
  name: string,
  valueOf: (row: Row) => number | null,
  unit: Unit,
  title?: string,
): Column<Row> {
  return {
    name,
    number: true,
    ...(title === undefined ? {} : { title }),
    sortBy: valueOf,
    cell: (row) => {
      const value = valueOf(row);
      return value === null ? '–' : write(value, unit);
    },
  };
}

export function countColumn<Row>(name: string, valueOf: (row: Row) => number | null): Column<Row> {
  return {
    name,
    number: true,
    sortBy: valueOf,
    cell: (row) => {
      const value = valueOf(row);
      return value === null ? '–' : count(value);
    },
  };
}

export function textColumn<Row>(name: string, textOf: (row: Row) => string): Column<Row> {
  return { name, sortBy: textOf, cell: (row) => <span className="wrap">{textOf(row)}</span> };
}
