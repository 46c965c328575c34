/** The rows with the most CPU time on this machine. */
import { Link } from 'wouter';
import type { TableRow } from '../../api/types.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { EXPLORE, linkTo } from '../../app/pages.ts';
import type { GoShown, Shown } from '../../app/Page.tsx';
import { amountOf, groundOf, measured, offered } from '../../estimates/measure.ts';
import { selectionOf } from '../../selection/selection.ts';
import { titleOf } from '../../table/marks.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';

interface Props {
  title: string;
  by: 'function' | 'application';
  column: 'self' | 'total';
  /** With the machine as a filter. */
  place: Shown;
  go: GoShown;
  price: number | null;
  linkOf: (row: TableRow) => string | null;
}

const ROWS = 12;

export function HotHere({ title, by, column, place, go, price, linkOf }: Props) {
  const { asOf } = useAsOf();
  const answer = useAnswer('/api/v1/table', {
    ...selectionOf(place, asOf),
    by,
    sort: `-${column}`,
    limit: ROWS,
  });
  return (
    <section className="panel" aria-label={title}>
      <h2>
        {title}
        <Link className="note" href={linkTo(EXPLORE, place, { by, view: 'table' })}>
          all
        </Link>
      </h2>
      <Answered query={answer} what={title.toLowerCase()} skeleton={<TableSkeleton />} shown={{ place, go }}>
        {(data) => {
          const ground = groundOf(data.totals, data.selection.select, price);
          const measure = offered(ground).includes(place.measure) ? place.measure : 'share';
          const estimateOf = (row: TableRow) => measured(amountOf(row, column), measure, ground);
          return (
            <DataTable
              label={title}
              rows={data.rows}
              keyOf={(row) => JSON.stringify(row.key)}
              columns={[
                {
                  name: by === 'function' ? 'Function' : 'Service',
                  cell: (row) => {
                    const link = linkOf(row);
                    const name = titleOf(row, [by]);
                    const text = (
                      <span className={by === 'function' ? 'code hot-name' : 'hot-name'} title={name}>
                        {name}
                      </span>
                    );
                    return link === null ? text : <Link href={link}>{text}</Link>;
                  },
                },
                {
                  name: column === 'self' ? 'Self' : 'CPU',
                  number: true,
                  cell: (row) => <EstimateText estimate={estimateOf(row)} measure={measure} />,
                },
              ]}
              empty={<p className="note">No profile of this machine is in this range.</p>}
            />
          );
        }}
      </Answered>
    </section>
  );
}
