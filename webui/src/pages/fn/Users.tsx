/** The applications that use the function, and by which callers. */
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import { FUNCTION, linkTo, SERVICE } from '../../app/pages.ts';
import { amountOf, groundOf, measured } from '../../estimates/measure.ts';
import { shorten } from '../../flame/names.ts';
import { percent } from '../../selection/numbers.ts';
import type { SelectionQuery } from '../../selection/selection.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import type { PanelProps } from './types.ts';

interface Props extends PanelProps {
  id: number;
  query: SelectionQuery;
  price: number | null;
}

export function Users({ id, query, price, enabled, place, go }: Props) {
  const answer = useAnswer(
    '/api/v1/shared-code/users',
    { ...query, function_id: id, by: 'application', limit: 50 },
    { enabled },
  );
  return (
    <section className="panel" aria-label="who uses it">
      <h2>Who uses it</h2>
      <Answered query={answer} what="its users" skeleton={<TableSkeleton />} shown={{ place, go }}>
        {(data) => {
          const ground = groundOf(data.totals, data.selection.select, price);
          return (
            <>
              <div className="fn-users">
                <DataTable
                  label="applications that use the function"
                  rows={data.rows}
                  keyOf={(row) => row.key['application'] ?? ''}
                  columns={[
                    {
                      name: 'application',
                      cell: (row) =>
                        row.key['application'] ? (
                          <Link href={linkTo(SERVICE, place, {}, row.key['application'])}>
                            {row.key['application']}
                          </Link>
                        ) : (
                          'none'
                        ),
                      sortBy: (row) => row.key['application'] ?? '',
                    },
                    {
                      name: 'of the function',
                      title: 'the application’s part of the function’s total',
                      number: true,
                      cell: (row) => percent(row.of_function, 1),
                      sortBy: (row) => row.of_function,
                    },
                    {
                      name: 'amount',
                      number: true,
                      cell: (row) => (
                        <EstimateText
                          estimate={measured(amountOf(row, 'total'), place.measure, ground)}
                          measure={place.measure}
                        />
                      ),
                      sortBy: (row) => row.total_share,
                    },
                    {
                      name: 'called by',
                      cell: (row) => (
                        <span className="wrap">
                          {row.callers.slice(0, 2).map((caller, k) => (
                            <span key={k}>
                              {k > 0 && ', '}
                              {caller.function === null ? (
                                'no caller'
                              ) : (
                                <Link
                                  className="code"
                                  title={caller.function.name}
                                  href={linkTo(FUNCTION, place, {}, caller.function.id)}
                                >
                                  {shorten(caller.function.name, 36)}
                                </Link>
                              )}{' '}
                              {percent(caller.share, 0)}
                            </span>
                          ))}
                        </span>
                      ),
                    },
                  ]}
                />
              </div>
              {data.unseen_hi !== null && (
                <p className="note pad">
                  An application without a sample of it spends at most {percent(data.unseen_hi)} of the
                  selection in it (95 %).
                </p>
              )}
            </>
          );
        }}
      </Answered>
    </section>
  );
}
