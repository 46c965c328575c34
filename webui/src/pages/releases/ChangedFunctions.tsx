/** The functions that a release changed significantly. */
import { Link } from 'wouter';
import type { ChangedFunction } from '../../api/types.ts';
import type { Shown } from '../../app/Page.tsx';
import { FUNCTION, linkTo } from '../../app/pages.ts';
import { withLabels } from '../../selection/base.ts';
import { percent, significant } from '../../selection/numbers.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { FittedName } from '../../ui/FittedName.tsx';

interface Props {
  functions: readonly ChangedFunction[];
  application: string;
  place: Shown;
}

export function ChangedFunctions({ functions, application, place }: Props) {
  const within = { ...place, select: withLabels(place.select, ['application'], { application }) };
  const columns: Column<ChangedFunction>[] = [
    {
      name: 'function',
      wide: true,
      cell: (row) => <FunctionLink row={row} place={within} />,
      sortBy: (row) => row.key['function'] ?? '',
    },
    { name: 'before', number: true, cell: (row) => percent(row.b_share), sortBy: (row) => row.b_share },
    { name: 'after', number: true, cell: (row) => percent(row.a_share), sortBy: (row) => row.a_share },
    {
      name: 'change',
      title: 'percentage points of the application’s time, with the interval of all comparisons',
      number: true,
      cell: (row) => (
        <>
          <b className={row.delta > 0 ? 'grew' : 'shrank'}>
            {row.delta > 0 ? '▲ +' : '▼ −'}
            {(100 * Math.abs(row.delta)).toFixed(2)}
          </b>{' '}
          <span className="bracket">
            {(100 * row.lo).toFixed(2)} to {(100 * row.hi).toFixed(2)}
          </span>
        </>
      ),
      sortBy: (row) => row.delta,
    },
    {
      name: '×',
      title: 'after ÷ before',
      number: true,
      cell: (row) => (row.factor === null ? 'new' : `×${row.factor.value.toFixed(2)}`),
      sortBy: (row) => row.factor?.value ?? Infinity,
    },
    {
      name: 'cores',
      title: 'what the change costs at the version’s present cores',
      number: true,
      cell: (row) => coresOf(row),
      sortBy: (row) => row.extra_cores?.value ?? null,
    },
  ];
  return (
    <DataTable
      label={`functions that changed in ${application}`}
      columns={columns}
      rows={functions}
      keyOf={(row) => `${row.function_id} ${row.key['function']}`}
    />
  );
}

/** `+22.1 cores` of a change. */
export function coresOf({ extra_cores }: Pick<ChangedFunction, 'extra_cores'>): string {
  if (extra_cores === null) return '–';
  return `${extra_cores.value > 0 ? '+' : ''}${significant(extra_cores.value)}`;
}

export function FunctionLink({
  row,
  place,
}: {
  row: Pick<ChangedFunction, 'key' | 'function_id'>;
  place: Shown;
}) {
  const name = row.key['function'] ?? '';
  if (row.function_id === null) return <FittedName name={name} />;
  return (
    <Link className="code" href={linkTo(FUNCTION, place, {}, row.function_id)}>
      <FittedName name={name} />
    </Link>
  );
}
