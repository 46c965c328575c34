/** Functions that take significantly more or less than before, why, and what changed in the fleet. */
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import type { Change, Mover, MoversAnswer } from '../../api/types.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage, type Shown } from '../../app/Page.tsx';
import { CHANGES, linkTo, SERVICE } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { usePlace } from '../../app/usePlace.ts';
import { count, percent } from '../../selection/numbers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { localMinute } from '../../selection/time.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { addressOfMark, marksOf, sentenceOf } from '../home/marks.ts';
import { FunctionLink } from '../releases/ChangedFunctions.tsx';
import { compareValues } from '../releases/links.ts';
import '../releases/releases.css';
import { causeOf } from './cause.ts';

export function ChangesPage() {
  const [place, go] = usePlace(CHANGES);
  const { asOf } = useAsOf();
  const query = selectionOf(place, asOf);
  const question = { ...query, by: place.by, share: 'total' as const };
  const movers = useAnswer('/api/v1/movers', question);
  const changes = useAnswer('/api/v1/changes', { ...query, limit: 100 });
  const shown = { place, go: (change: Partial<Shown>) => go(change) };
  return (
    <SelectionPage
      title="Changes"
      className="cards"
      place={place}
      go={go}
      share={{ route: '/api/v1/movers', query: question, formats: ROW_FORMATS }}
      busy={movers.isFetching || changes.isFetching}
    >
      <h1>Changes</h1>
      <p className="note lead">
        Significant changes against the period before, and between the versions of each application, with the
        cause where the data show one.
      </p>
      <div className="card-grid">
        <section className="panel wide" aria-label="functions that changed">
          <h2>Functions that changed</h2>
          <Answered query={movers} what="changes" skeleton={<TableSkeleton />} shown={shown}>
            {(answer) => <Movers answer={answer} place={place} />}
          </Answered>
        </section>
        <section className="panel wide" aria-label="new in the fleet">
          <h2>New in the fleet</h2>
          <Answered query={changes} what="first sights" skeleton={<TableSkeleton />} shown={shown}>
            {(answer) => (
              <>
                <DataTable
                  label="first sights and deploys"
                  columns={changeColumns(place)}
                  rows={answer.changes}
                  keyOf={(c) => marksOf([c])[0].id}
                  empty={
                    <p className="sentence">
                      No new version, kernel, compiler or platform was seen in this range
                      {answer.known_from !== null &&
                        `; profiles since ${localMinute(answer.known_from)} were read`}
                      .
                    </p>
                  }
                />
                {answer.unsure > 0 && (
                  <p className="bar-bottom note">
                    {count(answer.unsure)} more values were first seen in this range, but may have run before:
                    too few profiles are older.
                  </p>
                )}
              </>
            )}
          </Answered>
        </section>
      </div>
    </SelectionPage>
  );
}

function Movers({ answer, place }: { answer: MoversAnswer; place: Shown }) {
  const columns: Column<Mover>[] = [
    {
      name: 'function',
      wide: true,
      cell: (row) => <FunctionLink row={row} place={place} />,
      sortBy: (row) => row.key['function'] ?? '',
    },
    {
      name: 'of',
      title: 'the application and versions, or the period before',
      cell: ({ release }) =>
        release === null ? (
          <span className="note">period before</span>
        ) : (
          <Link
            href={compareValues(place, release.application, 'version', release.version, release.previous)}
          >
            {release.application} {release.previous} → {release.version}
          </Link>
        ),
      sortBy: ({ release }) => release?.application ?? '',
    },
    { name: 'before', number: true, cell: (row) => percent(row.b_share), sortBy: (row) => row.b_share },
    { name: 'after', number: true, cell: (row) => percent(row.a_share), sortBy: (row) => row.a_share },
    {
      name: 'change',
      title: 'percentage points, with the interval',
      number: true,
      cell: (row) => (
        <>
          <b className={row.delta > 0 ? 'grew' : 'shrank'}>
            {row.delta > 0 ? '▲ +' : '▼ −'}
            {(100 * Math.abs(row.delta)).toFixed(2)}
          </b>{' '}
          {row.lo !== null && row.hi !== null && (
            <span className="bracket">
              {(100 * row.lo).toFixed(2)} to {(100 * row.hi).toFixed(2)}
            </span>
          )}
        </>
      ),
      sortBy: (row) => row.delta,
    },
    {
      name: 'cause',
      cell: (row) => {
        const { text, why } = causeOf(row);
        return <span title={why}>{text}</span>;
      },
    },
  ];
  return (
    <>
      <DataTable
        label="functions that changed"
        columns={columns}
        rows={answer.movers}
        keyOf={(row) => `${row.release?.application ?? ''} ${JSON.stringify(row.key)}`}
        empty={<p className="sentence">{answer.because?.detail ?? 'No function changed significantly.'}</p>}
      />
      <p className="bar-bottom note">
        {count(answer.examined)} rows compared with the period before
        {answer.releases.length > 0 && `, and the releases of ${count(answer.releases.length)} applications`}.
        {answer.power !== null &&
          ` A 1 % row that becomes 1.5× heavier is found ${Math.round(100 * answer.power)} % of the time.`}
      </p>
    </>
  );
}

function changeColumns(place: Shown): Column<Change>[] {
  return [
    { name: 'time', cell: (c) => localMinute(c.time), sortBy: (c) => c.time },
    {
      name: 'application',
      cell: (c) =>
        c.application === null ? (
          <span className="note">machines</span>
        ) : (
          <Link href={linkTo(SERVICE, place, {}, c.application)}>{c.application}</Link>
        ),
      sortBy: (c) => c.application ?? '',
    },
    { name: 'what', cell: (c) => (c.kind === 'mark' ? 'deploy' : `new ${c.label}`), sortBy: (c) => c.label },
    { name: 'value', cell: (c) => <span title={sentenceOf(c)}>{c.value}</span>, sortBy: (c) => c.value },
    { name: 'before', cell: (c) => c.previous ?? '' },
    {
      name: 'now',
      title: 'share of the application’s time, or of the fleet’s',
      number: true,
      cell: (c) => (c.share_now === null ? '' : percent(c.share_now.value, 0)),
      sortBy: (c) => c.share_now?.value ?? null,
    },
    { name: '', cell: (c) => <Link href={addressOfMark(place, marksOf([c])[0])}>Compare</Link> },
  ];
}
