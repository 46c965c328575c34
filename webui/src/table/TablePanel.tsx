/** The table of a selection: its keys, its rows, and how they are searched. */
import { platformPrices, useCost } from '../app/usePrice.ts';
import { useMemo } from 'react';
import type { StatusAnswer, TableRow } from '../api/types.ts';
import { groundOf, offered } from '../estimates/measure.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import { count, percent } from '../selection/numbers.ts';
import type { ExplorePlace as Place } from '../app/pages.ts';
import { usePreference } from '../ui/usePreference.ts';
import { Answered } from '../ui/states/Answered.tsx';
import { TableSkeleton } from '../ui/states/Skeleton.tsx';
import type { TableData, TableQuery } from '../pages/explore/queries.ts';
import { FunctionTable } from './FunctionTable.tsx';
import { GroupKeys } from './GroupKeys.tsx';
import { matchesFind } from './marks.ts';
import { inOrder, matching } from './rowOrder.ts';

interface Props {
  place: Place;
  go: Go;
  table: TableQuery;
  status: StatusAnswer | undefined;
  /** The reader is about to sort. */
  onIntent: () => void;
  /** The pointer rests on a row of this function. */
  onRest: (functionId: number) => void;
}

export function TablePanel(props: Props) {
  const { place, go, table } = props;
  const [intervals, setIntervals] = usePreference<boolean>('interval-columns', false);
  const rows = useMemo(() => shownOf(table.data, place), [table.data, place.find, place.regex, place.sort]);
  const { data } = table;
  const total =
    data === undefined
      ? null
      : data.whole || rows.length < data.rows.length
        ? rows.length
        : data.answer.rows_total;
  return (
    <section className="panel table" aria-label="table">
      <div className="bar-top">
        <GroupKeys title="Table by" place={place} go={go} />
        <span className="note" aria-live="polite">
          {total !== null && `${count(total)} ${total === 1 ? 'row' : 'rows'}`}
        </span>
        <span className="spacer" />
        <button
          type="button"
          aria-pressed={intervals}
          title="show the 95 % intervals in numbers, in columns of their own"
          onClick={() => setIntervals(!intervals)}
        >
          Intervals
        </button>
      </div>
      <Answered query={table} skeleton={<TableSkeleton />} what="the table" shown={{ place, go }}>
        {({ answer }) => <Rows {...props} answer={answer} rows={rows} total={total!} intervals={intervals} />}
      </Answered>
    </section>
  );
}

/** The rows with the search and the order of the place: of a table that is not whole the server has done both. */
function shownOf(data: TableData | undefined, place: Place): readonly TableRow[] {
  if (data === undefined) return [];
  const matches = matchesFind(place.find, place.regex);
  const found = matching(data.rows, typeof matches === 'function' ? matches : null);
  return data.whole ? inOrder(found, place.sort) : found;
}

interface RowsProps extends Props {
  answer: TableData['answer'];
  rows: readonly TableRow[];
  total: number;
  intervals: boolean;
}

function Rows({ place, go, table, status, onIntent, onRest, answer, rows, total, intervals }: RowsProps) {
  const { by } = answer;
  const missing = useMemo(() => new Map(status?.symbols.missing.map((m) => [m.binary, m.reason])), [status]);
  const cost = useCost(place);
  const ground = groundOf(
    answer.totals,
    answer.selection.select,
    cost?.price_per_core_hour ?? null,
    platformPrices(cost),
  );
  if (rows.length === 0)
    return (
      <div className="state">
        <p>
          No {by.join(', ')} matches “{place.find}”.
        </p>
        <button type="button" onClick={() => go({ find: '' }, 'replace')}>
          Clear the search
        </button>
      </div>
    );
  return (
    <>
      <FunctionTable
        rows={rows}
        rowsTotal={total}
        by={by}
        ground={ground}
        measure={offered(ground).includes(place.measure) ? place.measure : 'share'}
        path={answer.totals.path}
        place={place}
        go={go}
        missing={missing}
        intervals={intervals}
        readMore={table.readMore}
        onIntent={onIntent}
        onRest={onRest}
      />
      {!table.data!.whole && rows.length < answer.rows_total && (
        <p className="bar-bottom note">
          {count(rows.length)} of {count(answer.rows_total)} rows loaded; the rest has{' '}
          {percent(answer.remainder.self_share)} of self time
        </p>
      )}
    </>
  );
}
