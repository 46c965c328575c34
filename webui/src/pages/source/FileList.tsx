/** The source files of a binary by cost. */
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { EXPLORE, linkTo, SOURCE, SYMBOLS } from '../../app/pages.ts';
import { usePrice } from '../../app/usePrice.ts';
import { SelectionPage } from '../../app/Page.tsx';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { amountOf, groundOf, measured } from '../../estimates/measure.ts';
import { formatMatchers, parseMatchers } from '../../selection/matchers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import type { SourceProps } from './types.ts';

export function FileList({ binary, place, go }: SourceProps) {
  const { asOf } = useAsOf();
  const price = usePrice(place);
  // `find` keeps rows whose file or binary contains the name; the others are removed here.
  const query = {
    ...selectionOf(place, asOf),
    by: 'file,binary',
    sort: '-total' as const,
    limit: 1000,
    find: binary,
  };
  const answer = useAnswer('/api/v1/table', query);
  const matchers = parseMatchers(place.select) ?? [];
  const within = formatMatchers([...matchers, { label: 'binary', operator: '=', value: binary }]);
  return (
    <SelectionPage
      title={`Source of ${binary}`}
      className="cards source"
      place={place}
      go={go}
      share={{ route: '/api/v1/table', query, formats: ROW_FORMATS }}
      busy={answer.isFetching}
    >
      <header className="source-heading">
        <h1 className="code">{binary}</h1>
        <p className="note">
          <Link href={linkTo(EXPLORE, place, { view: 'table', by: 'function', select: within })}>
            Functions in stacks through it
          </Link>
          {' · '}
          <Link href={linkTo(SYMBOLS, {}, { show: 'all', find: binary.slice(0, 200) })}>Symbols</Link>
        </p>
      </header>
      <section className="panel" aria-label="source files">
        <h2>Source files by cost</h2>
        <Answered query={answer} what="the source files" skeleton={<TableSkeleton />} shown={{ place, go }}>
          {(data) => {
            const rows = data.rows.filter((row) => row.key['binary'] === binary);
            const ground = groundOf(data.totals, data.selection.select, price);
            return (
              <DataTable
                label={`source files of ${binary}`}
                rows={rows}
                keyOf={(row) => row.key['file'] ?? ''}
                empty={<p className="sentence">No samples of this binary in the selection.</p>}
                columns={[
                  {
                    name: 'file',
                    cell: (row) =>
                      row.key['file'] ? (
                        <Link
                          className="code wrap"
                          href={linkTo(SOURCE, place, { path: row.key['file'] }, binary)}
                        >
                          {row.key['file']}
                        </Link>
                      ) : (
                        <span title="There is no debug information of these functions.">unknown</span>
                      ),
                    sortBy: (row) => row.key['file'] ?? '',
                  },
                  ...(['total', 'self'] as const).map((column) => ({
                    name: column,
                    number: true,
                    cell: (row: (typeof rows)[number]) => (
                      <EstimateText
                        estimate={measured(amountOf(row, column), place.measure, ground)}
                        measure={place.measure}
                      />
                    ),
                    sortBy: (row: (typeof rows)[number]) => row[column],
                  })),
                ]}
              />
            );
          }}
        </Answered>
      </section>
    </SelectionPage>
  );
}
