/** The hottest source lines of the function. */
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import { linkTo, SOURCE } from '../../app/pages.ts';
import { percent } from '../../selection/numbers.ts';
import type { SelectionQuery } from '../../selection/selection.ts';
import { Command } from '../../ui/Command.tsx';
import { DataTable } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { versionName } from '../source/versions.ts';
import type { FunctionAnswer, PanelProps } from './types.ts';

interface Props extends PanelProps {
  fn: FunctionAnswer;
  query: SelectionQuery;
}

export function HotLines({ fn, query, enabled, place, go }: Props) {
  const answer = useAnswer('/api/v1/lines', { ...query, function_id: fn.id, limit: 20 }, { enabled });
  return (
    <section className="panel" aria-label="hot lines">
      <h2>
        Hot lines
        {answer.data !== undefined && answer.data.without_line > 0 && answer.data.itself.self > 0 && (
          <span className="note">
            {percent(answer.data.without_line / answer.data.itself.self, 1)} of its self is without a known
            line
          </span>
        )}
      </h2>
      <Answered query={answer} what="the hot lines" skeleton={<TableSkeleton />} shown={{ place, go }}>
        {(data) => (
          <DataTable
            label="hot lines of the function"
            rows={data.rows}
            keyOf={(row) => `${row.version}:${row.line}`}
            sorted="total"
            empty={<NoLines fn={fn} />}
            columns={[
              {
                name: 'line',
                cell: (row) => {
                  const version = data.versions[row.version];
                  return (
                    <Link
                      className="code"
                      title={version.file}
                      href={linkTo(
                        SOURCE,
                        place,
                        { path: version.file, line: row.line, fn: fn.id, version: versionName(version) },
                        fn.binary,
                      )}
                    >
                      {version.file.split('/').at(-1)}:{row.line}
                    </Link>
                  );
                },
                sortBy: (row) => row.line,
              },
              {
                name: 'total',
                number: true,
                cell: (row) => (
                  <EstimateText
                    estimate={{ value: row.total_share, lo: row.total_lo, hi: row.total_hi }}
                    measure="share"
                  />
                ),
                sortBy: (row) => row.total_share,
              },
              {
                name: 'self',
                number: true,
                cell: (row) => (
                  <EstimateText
                    estimate={{ value: row.self_share, lo: row.self_lo, hi: row.self_hi }}
                    measure="share"
                  />
                ),
                sortBy: (row) => row.self_share,
              },
              ...(data.versions.length > 1
                ? [
                    {
                      name: 'version',
                      cell: (row: (typeof data.rows)[number]) => versionName(data.versions[row.version]),
                    },
                  ]
                : []),
            ]}
          />
        )}
      </Answered>
    </section>
  );
}

/** Lines need debug information of the build. */
function NoLines({ fn }: { fn: FunctionAnswer }) {
  const build = fn.builds[0];
  return (
    <>
      <p>No lines of this function are known.</p>
      {fn.kind === 'user' && (
        <p>
          {build?.reason && `${build.reason} `}
          Lines need debug information of its binary:{' '}
          <Command text={`fleetprof symbols upload ${fn.binary}.debug`} />
        </p>
      )}
    </>
  );
}
