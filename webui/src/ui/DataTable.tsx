/** A table of at most a few hundred rows, sorted in the browser. Longer ones: table/useRows.ts. */
import { useMemo, useState, type ReactNode } from 'react';

export interface Column<Row> {
  /** Text of the heading; unique in the table. */
  name: string;
  /** What the column means. */
  title?: string;
  cell: (row: Row) => ReactNode;
  /** Numbers are aligned to the right. */
  number?: boolean;
  /** Takes the room that the other columns leave; its text is cut to it. */
  wide?: boolean;
  /** Prose: its lines are broken. */
  text?: boolean;
  /** Makes the column sortable: numbers descending first, texts ascending. null comes last. */
  sortBy?: (row: Row) => number | string | null;
}

interface Props<Row> {
  /** Names the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** The order at first; default: that of `rows`. */
  sorted?: string;
  /** Shown without rows. */
  empty?: ReactNode;
}

interface Order {
  name: string;
  descending: boolean;
}

export function DataTable<Row>({ label, columns, rows, keyOf, sorted, empty }: Props<Row>) {
  const [order, setOrder] = useState<Order | null>(() => (sorted ? firstOrder(columns, rows, sorted) : null));
  const shown = useMemo(() => inOrder(rows, columns, order), [rows, columns, order]);
  if (rows.length === 0 && empty !== undefined) return <div className="state">{empty}</div>;
  return (
    <div className="data-table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={classOf(column)}
                title={column.title}
                aria-sort={
                  order?.name !== column.name ? undefined : order.descending ? 'descending' : 'ascending'
                }
              >
                {column.sortBy ? (
                  <button
                    type="button"
                    className="sort"
                    onClick={() =>
                      setOrder(
                        order?.name === column.name
                          ? { ...order, descending: !order.descending }
                          : firstOrder(columns, rows, column.name),
                      )
                    }
                  >
                    {column.name}
                    {order?.name === column.name && (
                      <span aria-hidden="true">{order.descending ? ' ↓' : ' ↑'}</span>
                    )}
                  </button>
                ) : (
                  column.name
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} className={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf({
  number,
  wide,
  text,
}: Pick<Column<never>, 'number' | 'wide' | 'text'>): string | undefined {
  return number ? 'number' : wide ? 'wide' : text ? 'text' : undefined;
}

function firstOrder<Row>(columns: readonly Column<Row>[], rows: readonly Row[], name: string): Order {
  const sortBy = columns.find((column) => column.name === name)?.sortBy;
  return { name, descending: rows.some((row) => typeof sortBy?.(row) === 'number') };
}

/** The rows in this order; equal ones keep theirs. */
export function inOrder<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: Order | null,
): readonly Row[] {
  const sortBy = columns.find((column) => column.name === order?.name)?.sortBy;
  if (order === null || sortBy === undefined) return rows;
  const sign = order.descending ? -1 : 1;
  return [...rows].sort((x, y) => {
    const [a, b] = [sortBy(x), sortBy(y)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return (
      sign * (typeof a === 'string' || typeof b === 'string' ? String(a).localeCompare(String(b)) : a - b)
    );
  });
}
