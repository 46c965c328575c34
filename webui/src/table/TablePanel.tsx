import { useMemo } from 'react';
import type { StatusAnswer } from '../api/types.ts';
import type { useTable } from '../pages/explore/queries.ts';
import { groundOf, offered } from '../estimates/measure.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import { count, percent } from '../selection/numbers.ts';
import type { ExplorePlace as Place } from '../app/pages.ts';
import { Failure } from '../ui/states/Failure.tsx';
import { TableSkeleton } from '../ui/states/Skeleton.tsx';
import { FunctionTable } from './FunctionTable.tsx';
import { GroupBy } from './GroupBy.tsx';
import { matchesFind, titleOf } from './marks.ts';

interface Props {
  place: Place;
  go: Go;
  table: ReturnType<typeof useTable>;
  status: StatusAnswer | undefined;
}

export function TablePanel({ place, go, table, status }: Props) {
  const latest = table.data?.pages.at(-1);
  const by = latest?.by ?? place.by.split(',');
  const missing = useMemo(() => new Map(status?.symbols.missing.map((m) => [m.binary, m.reason])), [status]);
  const rows = useMemo(() => {
    const read = table.data?.pages.flatMap((page) => page.rows) ?? [];
    const matches = place.regex ? matchesFind(place.find, true) : null;
    return typeof matches === 'function' ? read.filter((row) => matches(titleOf(row, by))) : read;
  }, [table.data, place.find, place.regex, by]);
  const read = table.data?.pages.reduce((sum, page) => sum + page.rows.length, 0) ?? 0;
  const more = latest !== undefined && read < latest.rows_total;
  const ground =
    latest && groundOf(latest.totals, latest.selection.select, status?.price_per_core_hour ?? null);
  const searchedHere = place.regex && place.find !== '';

  return (
    <section className="panel table" aria-label="table">
      <div className="bar-top">
        <GroupBy title="Table by" place={place} go={go} />
        <span className="note">{latest && rowsNote(rows.length, latest.rows_total, searchedHere)}</span>
      </div>
      {table.isPending ? (
        <TableSkeleton />
      ) : table.error && !table.data ? (
        <Failure error={table.error} retry={() => void table.refetch()} place={place} go={go} />
      ) : rows.length === 0 ? (
        <div className="state">
          <p>
            No {by.join(', ')} matches “{place.find}”.
          </p>
          <button type="button" onClick={() => go({ find: '' }, 'replace')}>
            Clear the search
          </button>
        </div>
      ) : (
        <FunctionTable
          rows={rows}
          rowsTotal={searchedHere ? rows.length : latest!.rows_total}
          by={by}
          ground={ground!}
          measure={offered(ground!).includes(place.measure) ? place.measure : 'share'}
          path={latest!.totals.path}
          place={place}
          go={go}
          missing={missing}
          readMore={
            more && !searchedHere && !table.isFetchingNextPage ? () => void table.fetchNextPage() : null
          }
        />
      )}
      {latest && more && (
        <p className="bar-bottom note">
          {searchedHere
            ? `searched the first ${count(read)} of ${count(latest.rows_total)} rows`
            : `${count(read)} of ${count(latest.rows_total)} rows loaded; the rest has ${percent(latest.remainder.self_share)} of self time`}
        </p>
      )}
    </section>
  );
}

function rowsNote(shown: number, total: number, searchedHere: boolean): string {
  const n = searchedHere ? shown : total;
  return `${count(n)} ${n === 1 ? 'row' : 'rows'}`;
}
