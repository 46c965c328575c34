/** Cycles per instruction by platform, if machines count them. */
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import type { GoShown, Shown } from '../../app/Page.tsx';
import { linkTo, REPORT } from '../../app/pages.ts';
import { significant } from '../../selection/numbers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';

export function Ratios({ place, go }: { place: Shown; go: GoShown }) {
  const { asOf } = useAsOf();
  const { from, to, campaign, select } = selectionOf(place, asOf);
  const query = { from: from, to: to, campaign, ...(select === undefined ? {} : { select }), by: 'platform' };
  const answer = useAnswer('/api/v1/analysis/ratios', query);
  return (
    <section className="panel" aria-label="cycles per instruction">
      <h2>
        Cycles per instruction
        <span className="spacer" />
        <Link className="note" href={linkTo(REPORT, place, {}, 'ratios')}>
          Report
        </Link>
      </h2>
      <Answered query={answer} what="the counters" skeleton={<TableSkeleton />} shown={{ place, go }}>
        {(data) =>
          data.because !== null ? (
            <div className="state">
              <p>{data.because.detail}</p>
            </div>
          ) : (
            <DataTable
              label="cycles per instruction by platform"
              rows={data.rows.filter((row) => row.ratio !== null)}
              keyOf={(row) => row.key['platform'] ?? ''}
              columns={[
                { name: 'platform', wide: true, cell: (row) => row.key['platform'] },
                {
                  name: 'CPI',
                  number: true,
                  cell: ({ ratio }) => (
                    <>
                      <b>{ratio!.value.toFixed(2)}</b>
                      {ratio!.lo !== null && ratio!.hi !== null && (
                        <span className="bracket">
                          {' '}
                          {ratio!.lo.toFixed(2)}–{ratio!.hi.toFixed(2)}
                        </span>
                      )}
                    </>
                  ),
                  sortBy: (row) => row.ratio!.value,
                },
                {
                  name: 'profiles',
                  number: true,
                  cell: (row) => significant(row.visits),
                  sortBy: (row) => row.visits,
                },
              ]}
              empty={<p>No machine that ran it counts cycles and instructions.</p>}
            />
          )
        }
      </Answered>
    </section>
  );
}
