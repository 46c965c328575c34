/** Shared functions with their cost. */
import { Link } from 'wouter';
import type { AnswerOf } from '../../api/client.ts';
import { FUNCTION, linkTo, SERVICE } from '../../app/pages.ts';
import type { Shown } from '../../app/Page.tsx';
import { times, type Estimate } from '../../estimates/interval.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { FINE_SHARE, NUMBER, SHARE } from '../../views/chart/quantity.ts';
import { countColumn, figureColumn, nameColumn } from '../reports/columns.tsx';
import type { SharedRow } from './saving.ts';

interface Props {
  answer: AnswerOf<'/api/v1/shared-code'>;
  rows: readonly SharedRow[];
  /** Per cent. */
  saving: number;
  place: Shown;
  /** Id of the function whose users are shown. */
  chosen: number | null;
  onUsers: (id: number, name: string) => void;
}

export function SharedTable({ answer, rows, saving, place, chosen, onUsers }: Props) {
  const priced = answer.price_per_core_hour !== null;
  const part = saving / 100;
  const scaled = (cost: Estimate | null): Estimate | null => (cost === null ? null : times(cost, part));
  const columns: Column<SharedRow>[] = [
    {
      name: 'function',
      sortBy: (row) => row.key['function'],
      cell: (row) => (
        <span className="wrap">
          {row.function_id === null ? (
            row.key['function']
          ) : (
            <Link href={linkTo(FUNCTION, place, {}, row.function_id)}>{row.key['function']}</Link>
          )}{' '}
          <span className="note">{row.key['binary']}</span>
        </span>
      ),
    },
    figureColumn<SharedRow>(
      'share',
      (row) => ({ value: row.self_share, lo: row.self_lo, hi: row.self_hi }),
      FINE_SHARE,
      'Of the CPU time of the selection.',
    ),
    figureColumn<SharedRow>('cores', (row) => row.cost.cores, NUMBER, 'Busy cores, on average.'),
    figureColumn<SharedRow>('core-hours', (row) => row.cost.core_hours, NUMBER),
    ...(priced ? [figureColumn<SharedRow>('cost a year', (row) => row.cost.money_a_year, NUMBER)] : []),
    figureColumn<SharedRow>(
      `saved at ${saving} %`,
      (row) => scaled(priced ? row.cost.money_a_year : row.cost.cores),
      NUMBER,
      priced ? 'Money a year.' : 'Cores.',
    ),
    countColumn<SharedRow>('applications', (row) => row.applications),
    nameColumn<SharedRow>(
      'largest user',
      (row) => row.largest_application,
      (row) => linkTo(SERVICE, place, {}, row.largest_application),
    ),
    figureColumn<SharedRow>(
      'its share there',
      (row) => ({ value: row.largest_share, lo: null, hi: null }),
      SHARE,
      'Share of the largest user’s CPU time.',
    ),
    {
      name: 'users',
      cell: ({ function_id: id, key }) =>
        id !== null && (
          <button
            type="button"
            aria-pressed={chosen === id}
            aria-label={`users of ${key['function']}`}
            onClick={() => onUsers(id, key['function'])}
          >
            Users
          </button>
        ),
    },
  ];
  return (
    <DataTable
      label="Shared code"
      columns={columns}
      rows={rows}
      keyOf={(row) => JSON.stringify(row.key)}
      empty={
        <p className="sentence">
          No function is cold in each application and used by several
          {answer.rows.length > 0 && ', with such a name'}.
        </p>
      }
    />
  );
}
