/** How the machine's profiles ended, and why some failed. */
import type { MachineAnswer } from '../../api/types.ts';
import { count } from '../../selection/numbers.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { Facts } from '../../views/fleet/Facts.tsx';
import { Marked } from '../../views/fleet/Marked.tsx';
import { When } from '../../views/fleet/When.tsx';
import { OUTCOMES, outcomesText } from '../../views/fleet/words.ts';

type Failure = MachineAnswer['failures'][number];

export function HealthPanel({ machine, now }: { machine: MachineAnswer; now: number }) {
  const columns: readonly Column<Failure>[] = [
    { name: 'Outcome', cell: ({ outcome }) => <Marked word={OUTCOMES[outcome]} /> },
    {
      name: 'Reason',
      cell: ({ detail }) => <span className="detail-text">{detail || 'no reason given'}</span>,
    },
    { name: 'Profiles', number: true, cell: ({ visits }) => count(visits), sortBy: ({ visits }) => visits },
    {
      name: 'Latest',
      cell: ({ latest }) => <When at={latest} now={now} />,
      sortBy: ({ latest }) => latest,
    },
  ];
  return (
    <section className="panel" aria-label="outcomes">
      <h2>Outcomes</h2>
      <Facts
        facts={[
          ['Last day', outcomesText(machine.outcomes_last_day) || 'no profile'],
          ['Last week', outcomesText(machine.outcomes_last_week) || 'no profile'],
        ]}
      />
      <DataTable
        label="failures of the last week"
        columns={columns}
        rows={machine.failures}
        keyOf={({ outcome, detail }) => `${outcome} ${detail}`}
        empty={<p className="note">No profile failed in the last week.</p>}
      />
    </section>
  );
}
