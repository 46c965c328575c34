/** Every application's newest version against the one before. */
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import type { ReleasedApplication } from '../../api/types.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage, type Shown } from '../../app/Page.tsx';
import { linkTo, RELEASE, RELEASES } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { usePlace } from '../../app/usePlace.ts';
import { count, percent, plural } from '../../selection/numbers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { localMinute } from '../../selection/time.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { coresOf, FunctionLink } from './ChangedFunctions.tsx';
import { compareValues } from './links.ts';
import { Progress } from './Progress.tsx';
import './releases.css';
import { Verdict } from './Verdict.tsx';

const APPLICATIONS = 100;

export function ReleasesPage() {
  const [place, go] = usePlace(RELEASES);
  const { asOf } = useAsOf();
  const query = { ...selectionOf(place, asOf), limit: APPLICATIONS };
  const answer = useAnswer('/api/v1/releases', query);
  return (
    <SelectionPage
      title="Releases"
      className="cards"
      place={place}
      go={go}
      share={{ route: '/api/v1/releases', query, formats: ROW_FORMATS }}
      busy={answer.isFetching}
    >
      <h1>Releases</h1>
      <p className="note lead">
        The newest version of each application against the one before, over the time in which both ran.
      </p>
      <section className="panel" aria-label="releases">
        <Answered query={answer} what="releases" skeleton={<TableSkeleton />} shown={{ place, go }}>
          {(data) => (
            <>
              <DataTable
                label="applications and their newest versions"
                columns={columnsOf(place)}
                rows={data.applications}
                keyOf={(row) => row.application}
                empty={
                  <p className="sentence">
                    No profile of this selection has a version. Versions are labels of processes: see “Labels”
                    in the documentation.
                  </p>
                }
              />
              <p className="bar-bottom note">
                {plural(data.applications_total, 'application')} with a version, {count(data.tested)}{' '}
                functions compared at once: at most 1 in 20 of the changes called significant is chance.
              </p>
            </>
          )}
        </Answered>
      </section>
    </SelectionPage>
  );
}

function columnsOf(place: Shown): Column<ReleasedApplication>[] {
  const newest = (row: ReleasedApplication) => row.versions[0];
  return [
    {
      name: 'application',
      cell: (row) => (
        <Link href={linkTo(RELEASE, place, {}, row.application)}>
          <b>{row.application}</b>
        </Link>
      ),
      sortBy: (row) => row.application,
    },
    {
      name: 'share',
      title: 'of the selection’s CPU time',
      number: true,
      cell: (row) => percent(row.share),
      sortBy: (row) => row.share,
    },
    {
      name: 'newest',
      cell: (row) => (
        <>
          {row.newest} <span className="note">{row.previous !== null && `after ${row.previous}`}</span>
        </>
      ),
      sortBy: (row) => row.newest,
    },
    {
      name: 'roll-out',
      title: 'share of the application’s time in the newest version now',
      cell: (row) => <Progress share={newest(row)?.share_now ?? null} />,
      sortBy: (row) => newest(row)?.share_now?.value ?? null,
    },
    {
      name: 'first seen',
      cell: (row) => {
        const seen = newest(row)?.first_seen ?? null;
        return seen === null ? <span className="note">before</span> : localMinute(seen);
      },
      sortBy: (row) => newest(row)?.first_seen ?? null,
    },
    {
      name: 'verdict',
      text: true,
      cell: (row) =>
        row.because === null ? (
          <Verdict comparison={row.comparison} />
        ) : (
          <span className="note" title={row.because.detail}>
            {row.previous === null ? 'one version only' : row.because.detail}
          </span>
        ),
      sortBy: (row) => row.comparison?.grew ?? null,
    },
    {
      name: 'worst function',
      wide: true,
      cell: (row) => row.comparison?.worst && <FunctionLink row={row.comparison.worst} place={place} />,
    },
    {
      name: 'cores',
      title: 'what the change of the worst function costs at the version’s present cores',
      number: true,
      cell: (row) => (row.comparison?.worst ? coresOf(row.comparison.worst) : ''),
      sortBy: (row) => row.comparison?.worst?.extra_cores?.value ?? null,
    },
    {
      name: '',
      cell: (row) =>
        row.previous !== null && (
          <Link href={compareValues(place, row.application, 'version', row.newest, row.previous)}>
            Compare
          </Link>
        ),
    },
  ];
}
