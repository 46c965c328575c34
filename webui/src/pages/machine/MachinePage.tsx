/** One machine: what it is, how its profiles end, and what runs there. */
import { useMemo } from 'react';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { EXPLORE, FUNCTION, linkTo, MACHINE, SERVICE } from '../../app/pages.ts';
import { usePrice } from '../../app/usePrice.ts';
import { SelectionPage } from '../../app/Page.tsx';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { useParts } from '../../app/useParts.ts';
import { usePlace } from '../../app/usePlace.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { Marked } from '../../views/fleet/Marked.tsx';
import { When } from '../../views/fleet/When.tsx';
import { MACHINE_STATES } from '../../views/fleet/words.ts';
import '../../views/fleet/fleet.css';
import { Link } from 'wouter';
import { onMachine } from './address.ts';
import { CpuOverTime } from './CpuOverTime.tsx';
import { EventsPanel } from './EventsPanel.tsx';
import { HealthPanel } from './HealthPanel.tsx';
import { HotRows } from '../service/HotRows.tsx';
import './machine.css';
import { ProfileNow } from './ProfileNow.tsx';
import { Profiles } from './Profiles.tsx';
import { LoadPanel, SystemPanel } from './SystemPanel.tsx';

const EVERY_MS = 10_000;

export function MachinePage() {
  const [place, go] = usePlace(MACHINE);
  const [name] = useParts(MACHINE);
  const { asOf } = useAsOf();
  const answer = useAnswer('/api/v1/machines/{name}', {}, { path: { name }, every: EVERY_MS });
  const here = useMemo(() => ({ ...place, select: onMachine(place.select, name) }), [place, name]);
  const price = usePrice(here);
  const shown = { place: here, go, price };
  const now = answer.dataUpdatedAt;
  return (
    <SelectionPage
      title={name}
      className="cards machine"
      place={place}
      go={go}
      share={{
        route: '/api/v1/table',
        query: { ...selectionOf(here, asOf), by: 'function' },
        formats: ROW_FORMATS,
      }}
      busy={answer.isFetching}
    >
      <Answered query={answer} what="the machine" skeleton={<TableSkeleton />}>
        {(machine) => (
          <div className="card-grid">
            <div className="page-head wide">
              <h1>{machine.name}</h1>
              <Marked word={MACHINE_STATES[machine.state]} />
              <span className="note">
                last profile received <When at={machine.answered_at} now={now} none="never" />
              </span>
              <Link href={linkTo(EXPLORE, here)}>Explore its profiles</Link>
            </div>
            <CpuOverTime {...shown} />
            <HotRows
              title="Hottest functions"
              by="function"
              column="self"
              all={linkTo(EXPLORE, here, { view: 'table' })}
              linkOf={({ function_id }) =>
                function_id == null ? null : linkTo(FUNCTION, here, {}, function_id)
              }
              {...shown}
            />
            <HotRows
              title="Services"
              by="application"
              column="total"
              all={linkTo(EXPLORE, here, { view: 'table', by: 'application' })}
              linkOf={({ key }) =>
                key['application'] ? linkTo(SERVICE, here, {}, key['application']) : null
              }
              {...shown}
            />
            <ProfileNow machine={machine} visit={place.visit} onRequested={(visit) => go({ visit })} />
            <LoadPanel machine={machine} now={now} />
            <Profiles
              machine={machine}
              now={now}
              more={place.all_profiles}
              showMore={() => go({ all_profiles: true })}
            />
            <HealthPanel machine={machine} now={now} />
            <SystemPanel machine={machine} now={now} />
            <EventsPanel events={machine.events} />
          </div>
        )}
      </Answered>
    </SelectionPage>
  );
}
