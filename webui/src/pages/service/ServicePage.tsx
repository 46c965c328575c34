/** One application: its cores over time, releases, hottest functions, machines and cycles per instruction. */
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useAnswer, useStatus } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage } from '../../app/Page.tsx';
import { COMPARE, EXPLORE, FUNCTION, GRAPH, linkTo, MACHINE, RELEASE, SERVICE } from '../../app/pages.ts';
import { usePrice } from '../../app/usePrice.ts';
import { STACK_FORMATS } from '../../app/ShareMenu.tsx';
import { useParts } from '../../app/useParts.ts';
import { usePlace, type Go } from '../../app/usePlace.ts';
import type { Shown } from '../../app/Page.tsx';
import { withLabels } from '../../selection/base.ts';
import { selectionOf } from '../../selection/selection.ts';
import { AboutNumbers } from '../explore/AboutNumbers.tsx';
import { NewestAgainstPrevious } from '../releases/NewestAgainstPrevious.tsx';
import '../releases/releases.css';
import { Answered } from '../../ui/states/Answered.tsx';
import { Empty } from '../../ui/states/Empty.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { HotRows } from './HotRows.tsx';
import { OverTimeBy } from './OverTimeBy.tsx';
import { Ratios } from './Ratios.tsx';

export function ServicePage() {
  const [place, go] = usePlace(SERVICE);
  const [application] = useParts(SERVICE);
  const { asOf } = useAsOf();
  const status = useStatus();
  // The page's filters besides the application, which is in the path.
  const within = useMemo<Shown>(
    () => ({ ...place, select: withLabels(place.select, ['application'], { application }) }),
    [place, application],
  );
  const price = usePrice(within);
  const query = selectionOf(within, asOf);
  const whole = useAnswer('/api/v1/table', { ...query, by: 'version', sort: '-total', limit: 1 });
  const releases = useAnswer('/api/v1/releases', { ...selectionOf(place, asOf), application });
  const isEmpty = whole.data !== undefined && whole.data.totals.samples === 0 && !whole.isPlaceholderData;
  const shown = { place: within, go: go as Go<Shown> };
  return (
    <SelectionPage
      title={application}
      className="cards"
      place={place}
      go={go}
      share={{
        route: '/api/v1/table',
        query: { ...query, by: 'function', limit: 1000 },
        formats: STACK_FORMATS,
      }}
      busy={whole.isFetching}
    >
      <div className="tools">
        <h1>{application}</h1>
        <AboutNumbers
          totals={whole.data?.totals}
          unit={whole.data?.selection.unit}
          campaign={place.campaign}
        />
        <span className="spacer" />
        <nav className="views" aria-label={`${application} elsewhere`}>
          <Link href={linkTo(EXPLORE, within, { view: 'flame' })}>Flame graph</Link>
          <Link href={linkTo(GRAPH, within)}>Call graph</Link>
          <Link href={linkTo(RELEASE, place, {}, application)}>Releases</Link>
          <Link href={linkTo(COMPARE, within)}>Compare with the previous period</Link>
        </nav>
      </div>
      {isEmpty ? (
        <section className="panel" aria-label="no results">
          <Empty
            totals={whole.data!.totals}
            unit={whole.data!.selection.unit}
            place={within}
            go={go as Go<Shown>}
            status={status.data}
          />
        </section>
      ) : (
        <div className="card-grid">
          <OverTimeBy label="version" title="CPU time over time, by version" {...shown} price={price} />
          <section className="panel wide" aria-label="newest release">
            <Answered query={releases} what="the releases" skeleton={<TableSkeleton />} {...{ shown }}>
              {(data) => <NewestAgainstPrevious answer={data} application={application} place={place} />}
            </Answered>
          </section>
          <HotRows
            title="Hottest functions"
            by="function"
            column="self"
            {...shown}
            price={price}
            linkOf={({ function_id }) =>
              function_id === null ? null : linkTo(FUNCTION, within, {}, function_id)
            }
            all={linkTo(EXPLORE, within, { view: 'table' })}
          />
          <HotRows
            title="Machines"
            by="machine"
            column="total"
            {...shown}
            price={price}
            linkOf={(row) => linkTo(MACHINE, within, {}, row.key['machine'] ?? '')}
            all={linkTo(EXPLORE, within, { view: 'table', by: 'machine' })}
          />
          <HotRows
            title="Platforms"
            by="platform"
            column="total"
            {...shown}
            price={price}
            linkOf={(row) =>
              linkTo(EXPLORE, {
                ...within,
                select: withLabels(within.select, ['platform'], { platform: row.key['platform'] ?? '' }),
              })
            }
            all={linkTo(EXPLORE, within, { view: 'table', by: 'platform' })}
          />
          <Ratios {...shown} />
        </div>
      )}
    </SelectionPage>
  );
}
