/** The events that the machine's gateway can sample or count. */
import type { MachineAnswer } from '../../api/types.ts';
import { plural } from '../../selection/numbers.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';

type Event = MachineAnswer['events'][number];

const USES: Readonly<Record<Event['use'], string>> = {
  sampled: 'sampled',
  counted: 'counted only',
  none: 'not available',
};
const COLUMNS: readonly Column<Event>[] = [
  { name: 'Event', cell: ({ event }) => <span className="code">{event}</span>, sortBy: ({ event }) => event },
  { name: 'Use', cell: ({ use }) => USES[use], sortBy: ({ use }) => USES[use] },
  { name: 'Kernel’s event', cell: ({ source }) => source || '–' },
];

export function EventsPanel({ events }: { events: MachineAnswer['events'] }) {
  const sampled = events.filter(({ use }) => use === 'sampled').length;
  return (
    <section className="panel" aria-label="events">
      <details>
        <summary className="panel-title">
          Events{' '}
          <span className="note">
            {events.length === 0
              ? 'its gateway has not listed any'
              : `${plural(sampled, 'event')} of ${events.length} can be sampled`}
          </span>
        </summary>
        <DataTable
          label="events"
          columns={COLUMNS}
          rows={events}
          keyOf={({ event }) => event}
          empty={<p className="note">No event is listed.</p>}
        />
      </details>
    </section>
  );
}
