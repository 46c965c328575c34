/** Columns that the tables of reports share. */
import { Link } from 'wouter';
import type { Estimate } from '../../estimates/interval.ts';
import { count } from '../../selection/numbers.ts';
import type { Column } from '../../ui/DataTable.tsx';
import { range, write, type Unit } from '../../views/chart/quantity.ts';
import { shortPlatform } from './phrases.ts';
import type { Links } from './report.ts';

/** A name, linked to its page if it has one. */
export function nameColumn<Row>(
  name: string,
  valueOf: (row: Row) => string,
  hrefOf?: (row: Row) => string | null,
): ReportColumn<Row> {
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
): ReportColumn<Row> {
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
): ReportColumn<Row> {
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

export function countColumn<Row>(name: string, valueOf: (row: Row) => number | null): ReportColumn<Row> {
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

export function textColumn<Row>(name: string, textOf: (row: Row) => string): ReportColumn<Row> {
  return { name, sortBy: textOf, cell: (row) => <span className="wrap">{textOf(row)}</span> };
}

/** A column of a report: it can be sorted, and is left out if it has no value in any row. */
export type ReportColumn<Row> = Column<Row> & { sortBy: NonNullable<Column<Row>['sortBy']> };

/** The columns of one table, with links to the pages of what they name. */
export interface Columns<Row> {
  application: (valueOf: (row: Row) => string) => ReportColumn<Row>;
  platform: (name: string, valueOf: (row: Row) => string) => ReportColumn<Row>;
  /** A value of a label: the explorer narrowed to it, or the page of the application. */
  label: (label: string, valueOf: (row: Row) => string) => ReportColumn<Row>;
  name: (
    name: string,
    valueOf: (row: Row) => string,
    hrefOf: (row: Row, links: Links) => string | null,
  ) => ReportColumn<Row>;
  figure: (
    name: string,
    figureOf: (row: Row) => Estimate | null,
    unit: Unit,
    title?: string,
  ) => ReportColumn<Row>;
  number: (
    name: string,
    valueOf: (row: Row) => number | null,
    unit: Unit,
    title?: string,
  ) => ReportColumn<Row>;
  count: (name: string, valueOf: (row: Row) => number | null) => ReportColumn<Row>;
  text: (name: string, textOf: (row: Row) => string) => ReportColumn<Row>;
  note: (textOf: (row: Row) => string) => ReportColumn<Row>;
}

export function columnsOf<Row>(links: Links): Columns<Row> {
  const label = (name: string, valueOf: (row: Row) => string): ReportColumn<Row> =>
    name === 'application'
      ? nameColumn(name, valueOf, (row) => links.application(valueOf(row)))
      : nameColumn(name, valueOf, (row) => links.value(name, valueOf(row)));
  return {
    application: (valueOf) => label('application', valueOf),
    platform: (name, valueOf) =>
      nameColumn(
        name,
        (row) => shortPlatform(valueOf(row)),
        (row) => links.value('platform', valueOf(row)),
      ),
    label,
    name: (name, valueOf, hrefOf) => nameColumn(name, valueOf, (row) => hrefOf(row, links)),
    figure: figureColumn,
    number: numberColumn,
    count: countColumn,
    text: textColumn,
    note: (textOf) => ({
      name: 'note',
      sortBy: textOf,
      cell: (row) => <span className="report-note">{textOf(row)}</span>,
    }),
  };
}

/** The columns that have a value in some row. */
export function filled<Row>(
  columns: readonly ReportColumn<Row>[],
  rows: readonly Row[],
): readonly ReportColumn<Row>[] {
  return columns.filter(({ sortBy }) =>
    rows.some((row) => ![null, ''].includes(sortBy(row) as string | null)),
  );
}
