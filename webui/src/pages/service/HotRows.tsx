/** The heaviest rows of a selection with their amounts, and a small line over time for each if given. */
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import type { TableRow } from '../../api/types.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { platformPrices, useCost } from '../../app/usePrice.ts';
import type { GoShown, Shown } from '../../app/Page.tsx';
import { amountOf, groundOf, measured, MEASURE_NAMES, offered } from '../../estimates/measure.ts';
import { selectionOf } from '../../selection/selection.ts';
import { percent } from '../../selection/numbers.ts';
import { titleOf } from '../../table/marks.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import { FittedName } from '../../ui/FittedName.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';

interface Props {
  title: string;
  by: string;
  /** Which share orders the rows. */
  column: 'self' | 'total';
  place: Shown;
  go: GoShown;
  price: number | null;
  rows?: number;
  /** null: the row has no page of its own. */
  linkOf: (row: TableRow) => string | null;
  /** The page with all rows. */
  all: string;
  more?: readonly Column<TableRow>[];
}

export function HotRows({ title, by, column, place, go, price, rows = 12, linkOf, all, more = [] }: Props) {
  const platforms = platformPrices(useCost(place));
  const { asOf } = useAsOf();
  const query = { ...selectionOf(place, asOf), by, sort: `-${column}` as const, limit: rows };
  const answer = useAnswer('/api/v1/table', query);
  return (
    <section className="panel" aria-label={title}>
      <h2>
        {title}
        <span className="spacer" />
        <Link className="note" href={all}>
          All
        </Link>
      </h2>
      <Answered query={answer} what={title.toLowerCase()} skeleton={<TableSkeleton />} shown={{ place, go }}>
        {(data) => {
          const ground = groundOf(data.totals, data.selection.select, price, platforms);
          const measure = offered(ground).includes(place.measure) ? place.measure : 'share';
          const columns: Column<TableRow>[] = [
            {
              name: by,
              wide: true,
              cell: (row) => {
                const link = linkOf(row);
                const style = by === 'function' ? 'code' : undefined;
                const name = titleOf(row, data.by);
                const text = by === 'function' ? <FittedName name={name} /> : name;
                return link === null ? (
                  <span className={style}>{text}</span>
                ) : (
                  <Link className={style} href={link}>
                    {text}
                  </Link>
                );
              },
            },
            ...(measure === 'cores' || !offered(ground).includes('cores')
              ? []
              : [amount('cores', (row: TableRow) => measured(amountOf(row, column), 'cores', ground))]),
            {
              name: measure === 'share' ? column : MEASURE_NAMES[measure],
              number: true,
              cell: (row) => (
                <EstimateText estimate={measured(amountOf(row, column), measure, ground)} measure={measure} />
              ),
            },
            ...more,
          ];
          return (
            <>
              <DataTable
                label={title}
                columns={columns}
                rows={data.rows}
                keyOf={(row) => JSON.stringify(row.key)}
                empty={<p className="sentence">No samples in this selection.</p>}
              />
              {data.rows_total > data.rows.length && (
                <p className="bar-bottom note">
                  {data.rows.length} of {data.rows_total}; the rest has{' '}
                  {percent(column === 'self' ? data.remainder.self_share : restOf(data.rows, column))}
                </p>
              )}
            </>
          );
        }}
      </Answered>
    </section>
  );
}

/** Totals of applications and machines are whole stacks, so what is not shown is what is left of everything. */
function restOf(rows: readonly TableRow[], column: 'total'): number {
  return Math.max(0, 1 - rows.reduce((sum, row) => sum + row[`${column}_share`], 0));
}

function amount(name: string, of: (row: TableRow) => ReturnType<typeof measured>): Column<TableRow> {
  return { name, number: true, cell: (row) => <EstimateText estimate={of(row)} measure="cores" /> };
}
