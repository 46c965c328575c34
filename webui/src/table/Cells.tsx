/** What stands in a row: its name, and an amount with its share. */
import type { TableRow } from '../api/types.ts';
import { duration, percent, quantity } from '../selection/numbers.ts';
import { titleOf } from './marks.ts';

export function Name({
  row,
  by,
  missing,
}: {
  row: TableRow;
  by: readonly string[];
  missing: ReadonlyMap<string, string>;
}) {
  const title = titleOf(row, by);
  const status = row.key['status'];
  const unnamed =
    by.includes('function') &&
    row.key['kind'] !== 'marker' &&
    (status === 'binary_only' || status === 'unknown');
  const file = row.key['file'];
  const why =
    missing.get(row.key['binary'] ?? '') || 'Its binary has no symbols on the machine that resolved them.';
  return (
    <span
      role="gridcell"
      className={
        by.includes('function') || by.includes('binary') || by.includes('file') ? 'name code' : 'name'
      }
    >
      <span className="text" title={by.includes('function') && file ? `${title}\n${file}` : title}>
        {title}
      </span>
      {by.includes('function') && !title.includes(row.key['binary']) && (
        <span className="within">{row.key['binary']}</span>
      )}
      {unnamed && (
        <span className="badge" title={`No function name. ${why}`}>
          no symbols
        </span>
      )}
    </span>
  );
}

interface AmountProps {
  share: number;
  seconds: number | null;
  units: number;
  heaviest: number;
  bar: boolean;
  unit: string;
}

export function Amount({ share, seconds, units, heaviest, bar, unit }: AmountProps) {
  const amount = seconds === null ? quantity(units) : duration(seconds);
  return (
    <span
      role="gridcell"
      className="number amount"
      title={seconds === null ? `${units} ${unit}` : `${seconds.toFixed(3)} core-seconds`}
    >
      {bar && <i className="bar" style={{ width: `${(100 * share) / heaviest}%` }} />}
      <b>{percent(share)}</b>
      <span className="absolute">{amount}</span>
    </span>
  );
}
