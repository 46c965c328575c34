/** The hovered or current row in full: all its numbers, and their reliability. */
import type { TableRow } from '../api/types.ts';
import {
  amountOf,
  measured,
  offered,
  phrase,
  write,
  type Ground,
  type Measure,
} from '../estimates/measure.ts';
import { bracket, caution, seenIn, type Seen } from '../estimates/words.ts';
import { isOfFrames, titleOf } from './marks.ts';

interface Props {
  row: TableRow;
  by: readonly string[];
  ground: Ground;
  measure: Measure;
  path: Seen['path'];
}

export function RowDetails({ row, by, ground, measure, path }: Props) {
  const careful = caution(amountOf(row, 'total').share, row.low_confidence);
  const others = offered(ground).filter((m) => m !== measure && m !== 'samples');
  const seen = seenIn({ ...row, path });
  const title = titleOf(row, by);
  return (
    <div className="details row-details">
      <span className="name code">{title}</span>
      <span className="numbers">
        {isOfFrames(by) ? (
          <>
            self <Number column="self" row={row} ground={ground} measure={measure} /> · total{' '}
            <Number column="total" row={row} ground={ground} measure={measure} />
          </>
        ) : (
          <Number column="total" row={row} ground={ground} measure={measure} />
        )}
      </span>
      <span className="more-numbers">
        {others.map((m) => {
          const estimate = measured(amountOf(row, 'total'), m, ground);
          return estimate && <span key={m}>{phrase(m, estimate.value)}</span>;
        })}
        {seen !== '' && <span>seen in {seen}</span>}
        {careful !== '' && <span className="warn">{careful}</span>}
      </span>
    </div>
  );
}

function Number({
  column,
  row,
  ground,
  measure,
}: {
  column: 'self' | 'total';
  row: TableRow;
  ground: Ground;
  measure: Measure;
}) {
  const estimate = measured(amountOf(row, column), measure, ground);
  if (estimate === null) return <>–</>;
  const interval = bracket(measure, estimate);
  return (
    <>
      <b>{write(measure, estimate.value)}</b>
      {interval !== '' && ` (${interval})`}
    </>
  );
}
