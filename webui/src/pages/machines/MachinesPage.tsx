/** The inventory: every machine with its state and its last profile. */
import { useAnswer } from '../../api/useAnswer.ts';
import type { MachinesAnswer } from '../../api/types.ts';
import { Page } from '../../app/Page.tsx';
import { MACHINES } from '../../app/pages.ts';
import { usePlace } from '../../app/usePlace.ts';
import { count, plural } from '../../selection/numbers.ts';
import { Command } from '../../ui/Command.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { MACHINE_STATES } from '../../views/fleet/words.ts';
import '../../views/fleet/fleet.css';
import { MachinesTable } from './MachinesTable.tsx';
import { nextOrder, orderOf, orderText } from './order.ts';

const STATES = ['all', 'ok', 'failing', 'never_visited', 'disabled'] as const;
type State = (typeof STATES)[number];
const ROWS = 100;
const EVERY_MS = 15_000;

export function MachinesPage() {
  const [place, go] = usePlace(MACHINES);
  const order = orderOf(place.sort);
  const state: State = STATES.find((known) => known === place.state) ?? 'all';
  const answer = useAnswer(
    '/api/v1/machines',
    {
      find: place.find,
      state,
      sort: order.sort,
      order: order.descending ? 'desc' : 'asc',
      limit: ROWS,
      offset: place.offset,
    },
    { every: EVERY_MS },
  );
  return (
    <Page title="Machines" className="fleet-page" busy={answer.isFetching}>
      <h1>Machines</h1>
      <section className="panel" aria-label="inventory">
        <div className="bar-top">
          <Segments
            label="state"
            value={state}
            options={STATES.map((value) => ({
              value,
              text: `${value === 'all' ? 'All' : MACHINE_STATES[value].text}${numberOf(answer.data, value)}`,
              ...(value !== 'all' && { title: MACHINE_STATES[value].title }),
            }))}
            onChange={(chosen) => go({ state: chosen, offset: 0 })}
          />
          <input
            type="search"
            className="find-machine"
            value={place.find}
            onChange={(event) => go({ find: event.target.value, offset: 0 }, 'replace')}
            placeholder="Name, platform, kernel, key=value"
            aria-label="find a machine"
            maxLength={200}
          />
        </div>
        <Answered query={answer} what="the machines" skeleton={<TableSkeleton />}>
          {(data) =>
            data.machines.length === 0 ? (
              <Nothing
                answer={data}
                isRestricted={place.find !== '' || state !== 'all'}
                clear={() => go({ find: '', state: 'all', offset: 0 })}
                first={() => go({ offset: 0 })}
              />
            ) : (
              <>
                <MachinesTable
                  machines={data.machines}
                  order={order}
                  onSort={(sort) => go({ sort: orderText(nextOrder(order, sort)), offset: 0 })}
                  now={answer.dataUpdatedAt}
                />
                <Pager answer={data} offset={place.offset} to={(offset) => go({ offset })} />
              </>
            )
          }
        </Answered>
      </section>
    </Page>
  );
}

function numberOf(answer: MachinesAnswer | undefined, state: State): string {
  return answer === undefined ? '' : ` ${count(answer.counts[state])}`;
}

function Pager({
  answer,
  offset,
  to,
}: {
  answer: MachinesAnswer;
  offset: number;
  to: (offset: number) => void;
}) {
  const last = offset + answer.machines.length;
  return (
    <p className="pager note">
      <span role="status">
        {count(offset + 1)} to {count(last)} of {plural(answer.matching, 'machine')}
      </span>
      {(offset > 0 || last < answer.matching) && (
        <>
          <button type="button" disabled={offset === 0} onClick={() => to(Math.max(0, offset - ROWS))}>
            Previous
          </button>
          <button type="button" disabled={last >= answer.matching} onClick={() => to(offset + ROWS)}>
            Next
          </button>
        </>
      )}
    </p>
  );
}

interface NothingProps {
  answer: MachinesAnswer;
  isRestricted: boolean;
  clear: () => void;
  first: () => void;
}

function Nothing({ answer, isRestricted, clear, first }: NothingProps) {
  if (answer.matching > 0) {
    return (
      <div className="state" role="status">
        <p className="sentence">There are only {plural(answer.matching, 'machine')}.</p>
        <button type="button" className="primary" onClick={first}>
          Show the first page
        </button>
      </div>
    );
  }
  if (isRestricted) {
    return (
      <div className="state" role="status">
        <p className="sentence">No machine matches.</p>
        <button type="button" className="primary" onClick={clear}>
          Show all machines
        </button>
      </div>
    );
  }
  return (
    <div className="state" role="status">
      <p className="sentence">No machine is in the inventory yet.</p>
      <p>
        Add one with <Command text="fleetprof machines add NAME ADDRESS" />
      </p>
    </div>
  );
}
