/** Two selections side by side: what changed, and which changes are significant. */
import { useMemo } from 'react';
import type { DiffAnswer, StatusAnswer, Totals } from '../../api/types.ts';
import type { UseQueryResult } from '@tanstack/react-query';
import { boundOf, limitsOf, summaryOf } from '../../estimates/summary.ts';
import type { CompareGo as Go } from '../../app/usePlace.ts';
import { count, plural } from '../../selection/numbers.ts';
import type { ComparePlace as Place } from '../../app/pages.ts';
import { GroupBy } from '../../table/GroupBy.tsx';
import { isOfFrames, matchesFind, titleOf } from '../../table/marks.ts';
import { Segments } from '../../ui/Segments.tsx';
import { Failure } from '../../ui/states/Failure.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { BaseChoice } from './BaseChoice.tsx';
import { swapped } from '../../selection/base.ts';
import { bySignificance } from './change.ts';
import { DiffTable } from './DiffTable.tsx';
import { sidesOf } from './sides.ts';

const SHARES = [
  { value: 'self', text: 'self', title: 'compare time in the functions’ own code' },
  { value: 'total', text: 'total', title: 'compare time in the functions and their callees' },
] as const;

interface Props {
  place: Place;
  go: Go;
  diff: UseQueryResult<DiffAnswer, Error>;
  status: StatusAnswer | undefined;
}

export function ComparePanel({ place, go, diff, status }: Props) {
  const answer = diff.data;
  const missing = useMemo(() => new Map(status?.symbols.missing.map((m) => [m.binary, m.reason])), [status]);
  const rows = useMemo(() => {
    const ordered = bySignificance(answer?.rows ?? []);
    const matches = matchesFind(place.find, place.regex);
    return typeof matches === 'function'
      ? ordered.filter((row) => matches(titleOf(row, answer!.by)))
      : ordered;
  }, [answer, place.find, place.regex]);

  return (
    <section className="panel table" aria-label="comparison">
      <div className="bar-top">
        <GroupBy title="Compare by" place={place} go={go} />
        {isOfFrames(place.by.split(',')) && (
          <Segments
            label="share"
            value={place.column}
            options={SHARES}
            onChange={(column) => go({ column }, 'replace')}
          />
        )}
        {answer && <Sides answer={answer} />}
        <span className="spacer" />
        <BaseChoice place={place} go={go} base={answer?.base} />
        <button type="button" onClick={() => go(swapped(place))} title="swap base and selection">
          Swap
        </button>
      </div>
      {diff.isPending ? (
        <TableSkeleton />
      ) : diff.error && !answer ? (
        <Failure error={diff.error} retry={() => void diff.refetch()} place={place} go={go} />
      ) : answer!.base_totals.samples === 0 ? (
        <div className="state">
          <p className="sentence">The base has no samples.</p>
          <p>
            The base is {sidesOf(answer!.selection, answer!.base)[1]}.{' '}
            {boundOf(answer!.base_totals, answer!.base.unit)} Choose another base.
          </p>
        </div>
      ) : rows.length === 0 ? (
        <div className="state">
          <p>{place.find === '' ? 'There are no rows to compare.' : `No row matches “${place.find}”.`}</p>
        </div>
      ) : (
        <DiffTable
          rows={rows}
          rowsTotal={answer!.rows_total}
          by={answer!.by}
          place={place}
          missing={missing}
        />
      )}
      {answer && answer.rows.length > 0 && answer.base_totals.samples > 0 && <Verdict answer={answer} />}
    </section>
  );
}

function Sides({ answer }: { answer: DiffAnswer }) {
  const [selection, base] = sidesOf(answer.selection, answer.base);
  return (
    <span className="sides">
      <b>{selection}</b> <Behind totals={answer.totals} unit={answer.selection.unit} /> against <b>{base}</b>{' '}
      <Behind totals={answer.base_totals} unit={answer.base.unit} />
      <Limits totals={answer.base_totals} unit={answer.base.unit} />
    </span>
  );
}

function Behind({ totals, unit }: { totals: Totals; unit: string }) {
  const { estimate } = summaryOf(totals, unit);
  const visits = plural(totals.visits ?? totals.visits_ingested, 'visit');
  return <span className="bracket">({estimate === '' ? visits : `${estimate}, ${visits}`})</span>;
}

/** Limits of the base's figures; the headline above shows those of the selection. */
function Limits({ totals, unit }: { totals: Totals; unit: string }) {
  return limitsOf(totals, unit).map(({ text, why }) => (
    <span key={text} className="remark warn" title={why}>
      {text}
    </span>
  ));
}

/** The number of significant changes, and the power of the test. */
function Verdict({ answer }: { answer: DiffAnswer }) {
  const significant = answer.rows.filter((row) => row.significant).length;
  const { power, part, interval_level: level } = answer;
  if (answer.rows.every((row) => row.q === null)) {
    return (
      <p className="bar-bottom note wrap">
        Significance needs visits that were drawn at random on both sides.
      </p>
    );
  }
  return (
    <p className="bar-bottom note wrap">
      {count(significant)} of {count(answer.rows.length)} rows differ significantly
      {significant > 0 && '; about 1 in 20 of them is expected to be a false positive'}.
      {power &&
        ` The test would detect a row of ${percentOf(power.share)} that became ${power.factor} times as heavy in ${Math.round(100 * power.power)} of 100 such samplings.`}
      {level !== null &&
        ` Intervals have a level of ${Number((100 * level).toPrecision(4))} %: they exclude 0 exactly for the significant rows.`}
      {part < 1 && ` Significance was computed from a random ${percentOf(part)} of the visits.`}
    </p>
  );
}

function percentOf(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}
