/** A page of the inventory, sorted by the server. */
import { Link } from 'wouter';
import type { MachineRow, MachineSort } from '../../api/types.ts';
import { linkTo, MACHINE } from '../../app/pages.ts';
import { count, percent, significant } from '../../selection/numbers.ts';
import { Marked } from '../../views/fleet/Marked.tsx';
import { ShareBar } from '../../views/fleet/ShareBar.tsx';
import { When } from '../../views/fleet/When.tsx';
import { MACHINE_STATES, outcomeOf } from '../../views/fleet/words.ts';
import type { Order } from './order.ts';

const COLUMNS: readonly { text: string; sort: MachineSort | null; number?: boolean; title?: string }[] = [
  { text: 'Machine', sort: 'name' },
  { text: 'State', sort: null },
  { text: 'Platform', sort: 'platform' },
  { text: 'Datacenter', sort: 'datacenter' },
  { text: 'Kernel', sort: 'kernel' },
  { text: 'CPUs', sort: 'cpus', number: true, title: 'logical CPUs' },
  {
    text: 'Busy cores',
    sort: 'busy_cores',
    number: true,
    title: 'in its last received profile: utilisation × logical CPUs',
  },
  { text: 'Utilisation', sort: 'utilisation', title: 'busy share of its CPUs in its last received profile' },
  { text: 'Last profile', sort: 'last_visit', title: 'the last one that ended' },
  { text: 'Profiles', sort: 'visits', number: true, title: 'profiles of the last 24 hours that ended' },
  { text: 'Failures', sort: 'failures', number: true, title: 'those of them that failed' },
];

interface Props {
  machines: readonly MachineRow[];
  order: Order;
  onSort: (sort: MachineSort) => void;
  /** Milliseconds since 1970. */
  now: number;
}

export function MachinesTable({ machines, order, onSort, now }: Props) {
  return (
    <div className="data-table" role="region" aria-label="machines" tabIndex={0}>
      <table>
        <caption className="sr-only">Machines of the inventory</caption>
        <thead>
          <tr>
            {COLUMNS.map(({ text, sort, number, title }) => (
              <th
                key={text}
                scope="col"
                className={number ? 'number' : undefined}
                title={title}
                aria-sort={order.sort !== sort ? undefined : order.descending ? 'descending' : 'ascending'}
              >
                {sort === null ? (
                  text
                ) : (
                  <button type="button" className="sort" onClick={() => onSort(sort)}>
                    {text}
                    {order.sort === sort && <span aria-hidden="true">{order.descending ? ' ↓' : ' ↑'}</span>}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {machines.map((machine) => (
            <tr key={machine.name}>
              <th scope="row">
                <Link href={linkTo(MACHINE, {}, {}, machine.name)}>{machine.name}</Link>
              </th>
              <td>
                <Marked word={MACHINE_STATES[machine.state]} />
              </td>
              <td>{machine.platform || '–'}</td>
              <td>{machine.datacenter || '–'}</td>
              <td>{machine.kernel || '–'}</td>
              <td className="number">{machine.logical_cpus === null ? '–' : count(machine.logical_cpus)}</td>
              <td className="number">{coresText(machine.busy_cores)}</td>
              <td>
                <ShareBar
                  share={machine.utilisation}
                  {...(machine.utilisation !== null && { text: percent(machine.utilisation, 0) })}
                />
              </td>
              <td>
                <LastProfile machine={machine} now={now} />
              </td>
              <td className="number">{count(machine.visits_last_day)}</td>
              <td className="number">
                {machine.failures_last_day === 0 ? (
                  '0'
                ) : (
                  <b className="bad">{count(machine.failures_last_day)}</b>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Below a hundredth of a core, digits say nothing. */
function coresText(cores: number | null): string {
  if (cores === null) return '–';
  return cores > 0 && cores < 0.01 ? '< 0.01' : significant(cores);
}

function LastProfile({ machine: { last_visit }, now }: { machine: MachineRow; now: number }) {
  if (last_visit === null) return <>–</>;
  const word = outcomeOf(last_visit.outcome);
  return (
    <>
      <When at={last_visit.planned_at} now={now} />{' '}
      <Marked word={word} title={last_visit.detail || word.title} />
    </>
  );
}
