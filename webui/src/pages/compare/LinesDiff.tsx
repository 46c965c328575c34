/** The source lines of one changed function, before and after. */
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import type { DiffRow } from '../../api/types.ts';
import { linkTo, SOURCE, type ComparePlace } from '../../app/pages.ts';
import type { CompareGo } from '../../app/usePlace.ts';
import type { DiffQuery } from '../../selection/base.ts';
import { withoutFrameFilters } from '../../selection/lines.ts';
import { percent } from '../../selection/numbers.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { versionName } from '../source/versions.ts';
import { ratio, signed } from './change.ts';

const MOST_LINES = 500;
/** Changed functions to choose from. */
const CHOICES = 50;

interface Props {
  /** Changed functions, largest change first. */
  rows: readonly DiffRow[];
  query: DiffQuery;
  place: ComparePlace;
  go: CompareGo;
}

export function LinesDiff({ rows, query, place, go }: Props) {
  const functions = useMemo(() => {
    const named = rows.filter((row) => row.function_id != null);
    // Only debug information has lines.
    const lined = named.filter((row) => row.key['status'] === 'full');
    return (lined.length > 0 ? lined : named).slice(0, CHOICES);
  }, [rows]);
  const chosen = place.fn || (functions[0]?.function_id ?? 0);
  // The base's parameters stay as they are.
  const { query: narrowed, had } = withoutFrameFilters(query);
  const answer = useAnswer(
    '/api/v1/lines',
    { ...narrowed, function_id: chosen, limit: MOST_LINES },
    { enabled: chosen > 0 },
  );
  if (chosen === 0) return <p className="state">No function differs between the two sides.</p>;
  const known = functions.some((row) => row.function_id === chosen);
  return (
    <>
      <p className="bar-top">
        <label>
          lines of{' '}
          <select className="code" value={chosen} onChange={(e) => go({ fn: Number(e.target.value) })}>
            {!known && (
              <option value={chosen}>{answer.data?.functions[0]?.name ?? 'the chosen function'}</option>
            )}
            {functions.map((row) => (
              <option key={row.function_id} value={row.function_id ?? 0}>
                {row.key['function']} ({signed(row.delta, 'share')} points)
              </option>
            ))}
          </select>
        </label>
        {had && <span className="note">in all stacks: filters on functions cannot narrow lines</span>}
      </p>
      <Answered query={answer} what="the source lines" skeleton={<TableSkeleton />} shown={{ place, go }}>
        {({ rows: lines, versions, itself, without_line }) => (
          <>
            {itself.self > 0 && without_line > 0 && (
              <p className="note">
                {percent(without_line / itself.self, 1)} of its self time has no known line.
              </p>
            )}
            <DataTable
              label="source lines before and after"
              rows={lines}
              keyOf={(row) => `${row.version}:${row.line}`}
              sorted="change (percentage points)"
              empty="The debug information of this function has no lines, or it has no samples on the later side."
              columns={[
                {
                  name: 'line',
                  wide: true,
                  cell: (row) => {
                    const version = versions[row.version];
                    const binary = version.builds[0]?.binary ?? '';
                    const own = {
                      path: version.file,
                      line: row.line,
                      fn: chosen,
                      version: versionName(version),
                    };
                    return (
                      <Link className="code" title={version.file} href={linkTo(SOURCE, place, own, binary)}>
                        {version.file.split('/').at(-1)}:{row.line}
                      </Link>
                    );
                  },
                  sortBy: (row) => row.line,
                },
                {
                  name: 'before',
                  title: 'share of all samples with this line in the stack',
                  number: true,
                  cell: (row) => percent(row.b_total_share ?? 0),
                  sortBy: (row) => row.b_total_share,
                },
                {
                  name: 'after',
                  number: true,
                  cell: (row) => percent(row.total_share),
                  sortBy: (row) => row.total_share,
                },
                {
                  name: 'change (percentage points)',
                  number: true,
                  cell: (row) => (row.delta === null ? '–' : signed(row.delta, 'share')),
                  sortBy: (row) => row.delta && Math.abs(row.delta),
                },
                {
                  name: '×',
                  number: true,
                  cell: (row) => ratio({ before: row.b_total_share ?? 0, after: row.total_share }),
                },
              ]}
            />
          </>
        )}
      </Answered>
    </>
  );
}
