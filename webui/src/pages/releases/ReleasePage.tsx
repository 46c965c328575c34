/** The releases of one application: its versions over time, and what the newest one changed. */
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import type { ReleasedApplication } from '../../api/types.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage, type Shown } from '../../app/Page.tsx';
import { linkTo, RELEASE, SERVICE } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { useParts } from '../../app/useParts.ts';
import { usePlace } from '../../app/usePlace.ts';
import { usePrice } from '../../app/usePrice.ts';
import { withLabels } from '../../selection/base.ts';
import { selectionOf } from '../../selection/selection.ts';
import { localMinute } from '../../selection/time.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { OverTimeBy } from '../service/OverTimeBy.tsx';
import { compareValues, exploreValue } from './links.ts';
import { NewestAgainstPrevious } from './NewestAgainstPrevious.tsx';
import { Progress } from './Progress.tsx';
import './releases.css';

export function ReleasePage() {
  const [place, go] = usePlace(RELEASE);
  const [application] = useParts(RELEASE);
  const { asOf } = useAsOf();
  const query = { ...selectionOf(place, asOf), application };
  const answer = useAnswer('/api/v1/releases', query);
  const within = { ...place, select: withLabels(place.select, ['application'], { application }) };
  const price = usePrice(within);
  return (
    <SelectionPage
      title={`Releases of ${application}`}
      className="cards"
      place={place}
      go={go}
      share={{ route: '/api/v1/releases', query, formats: ROW_FORMATS }}
      busy={answer.isFetching}
    >
      <h1>
        Releases of <Link href={linkTo(SERVICE, place, {}, application)}>{application}</Link>
      </h1>
      <div className="card-grid">
        <section className="panel wide" aria-label="newest version">
          <Answered query={answer} what="the releases" skeleton={<TableSkeleton />} shown={{ place, go }}>
            {(data) => <NewestAgainstPrevious answer={data} application={application} place={place} />}
          </Answered>
        </section>
        <OverTimeBy
          label="version"
          title="Versions over time"
          place={within}
          go={({ from, to }) => go({ ...(from && { from }), ...(to && { to }) })}
          price={price}
        />
        <section className="panel wide" aria-label="versions">
          <h2>Versions</h2>
          <Answered query={answer} what="the versions" skeleton={<TableSkeleton />} shown={{ place, go }}>
            {(data) => <Versions row={data.applications.at(0)} place={place} />}
          </Answered>
        </section>
      </div>
    </SelectionPage>
  );
}

type Version = ReleasedApplication['versions'][number];

function Versions({ row, place }: { row: ReleasedApplication | undefined; place: Shown }) {
  if (row === undefined) return <p className="state">No version was seen in this range.</p>;
  const { application, versions } = row;
  const columns: Column<Version>[] = [
    {
      name: 'version',
      cell: ({ version }) => <Link href={exploreValue(place, { application, version })}>{version}</Link>,
      sortBy: ({ version }) => version,
    },
    {
      name: 'first seen',
      cell: ({ first_seen }) =>
        first_seen === null ? <span className="note">before this range</span> : localMinute(first_seen),
      sortBy: ({ first_seen }) => first_seen,
    },
    { name: 'last seen', cell: (v) => localMinute(v.last_seen), sortBy: (v) => v.last_seen },
    { name: 'now', cell: (v) => <Progress share={v.share_now} />, sortBy: (v) => v.share_now?.value ?? null },
    {
      name: 'share in the range',
      number: true,
      cell: (v) => <EstimateText estimate={v.share} measure="share" />,
      sortBy: (v) => v.share?.value ?? null,
    },
    {
      name: 'cores',
      number: true,
      cell: (v) => <EstimateText estimate={v.cores} measure="cores" />,
      sortBy: (v) => v.cores?.value ?? null,
    },
    { name: 'profiles', number: true, cell: (v) => v.visits, sortBy: (v) => v.visits },
    {
      name: '',
      cell: (v) => {
        const next = versions[versions.indexOf(v) + 1];
        return (
          next && (
            <Link href={compareValues(place, application, 'version', v.version, next.version)}>
              Compare with {next.version}
            </Link>
          )
        );
      },
    },
  ];
  return <DataTable label="versions" columns={columns} rows={versions} keyOf={(v) => v.version} />;
}
