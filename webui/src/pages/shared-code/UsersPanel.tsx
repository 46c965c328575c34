/** The applications that use a function, with the callers in each. */
import type { AnswerOf } from '../../api/client.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { linkTo, SERVICE } from '../../app/pages.ts';
import type { Shown } from '../../app/Page.tsx';
import { percent } from '../../selection/numbers.ts';
import type { SelectionQuery } from '../../selection/selection.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { FINE_SHARE, SHARE } from '../../views/chart/quantity.ts';
import { nameColumn, numberColumn, textColumn } from '../reports/columns.tsx';

type User = AnswerOf<'/api/v1/shared-code/users'>['rows'][number];

interface Props {
  id: number;
  name: string;
  place: Shown;
  selection: SelectionQuery;
  close: () => void;
}

export function UsersPanel({ id, name, place, selection, close }: Props) {
  const answer = useAnswer('/api/v1/shared-code/users', { ...selection, function_id: id });
  return (
    <section className="panel" aria-label={`users of ${name}`}>
      <div className="shared-users-top">
        <h2>Users of {name}</h2>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      <Answered query={answer} what="its users" skeleton={<TableSkeleton />}>
        {(data) => (
          <>
            <DataTable
              label={`Users of ${name}`}
              rows={data.rows}
              keyOf={(row) => row.key['application']}
              columns={[
                nameColumn<User>(
                  'application',
                  (row) => row.key['application'],
                  (row) => linkTo(SERVICE, place, {}, row.key['application']),
                ),
                numberColumn<User>('of its uses', (row) => row.of_function, SHARE),
                numberColumn<User>('of the application', (row) => row.within, FINE_SHARE),
                textColumn<User>('called by', (row) =>
                  row.callers
                    .map((c) => `${c.function?.name ?? 'no caller'} ${percent(c.share, 0)}`)
                    .join(', '),
                ),
              ]}
            />
            {data.unseen_hi !== null && (
              <p className="note">
                A user that no profile saw has at most {percent(data.unseen_hi)} of the selection (95 %
                confidence).
              </p>
            )}
          </>
        )}
      </Answered>
    </section>
  );
}
