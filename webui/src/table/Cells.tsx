/** The cells of a row: its names, and estimates with their intervals. */
import { Link } from 'wouter';
import { Whisker } from '../estimates/Whisker.tsx';
import { reachesZero, type Estimate } from '../estimates/interval.ts';
import { write, type Measure } from '../estimates/measure.ts';
import { bracket, caution, FEW, spoken } from '../estimates/words.ts';
import { offsetOf } from '../flame/names.ts';
import { linkTo, SYMBOLS } from '../app/pages.ts';
import { FittedName } from '../ui/FittedName.tsx';
import { titleOf, type Keyed } from './marks.ts';

interface NameProps {
  row: Keyed;
  /** The keys whose values the cell shows. */
  by: readonly string[];
  /** Reasons for missing names, by binary. */
  missing: ReadonlyMap<string, string>;
  low_confidence: boolean;
}

/** Their values are code: long names are cut where they matter least. */
const CODE_KEYS: readonly string[] = ['function', 'file', 'binary'];

export function Name({ row, by, missing, low_confidence }: NameProps) {
  const title = titleOf(row, by);
  const ofFunction = by.includes('function');
  const status = row.key['status'];
  const unnamed =
    ofFunction && row.key['kind'] !== 'marker' && (status === 'binary_only' || status === 'unknown');
  const file = row.key['file'];
  const why =
    missing.get(row.key['binary'] ?? '') ||
    'No symbols of its binary were found where the samples were symbolized.';
  const hint = ofFunction ? [title, file, row.key['binary']].filter(Boolean).join('\n') : title;
  const code = by.some((key) => CODE_KEYS.includes(key));
  return (
    <span role="gridcell" className={code ? 'name code' : 'name'}>
      <span className="text" title={hint}>
        {unnamed ? <Place name={title} /> : code ? <FittedName name={title} title={hint} /> : title}
      </span>
      {ofFunction && !title.includes(row.key['binary']) && (
        <span className="within">{row.key['binary']}</span>
      )}
      {unnamed && (
        <Link
          className="badge"
          href={linkTo(SYMBOLS, {}, { show: 'all', find: (row.key['binary'] ?? '').slice(0, 200) })}
          tabIndex={-1}
          title={`No function name. ${why}`}
          onClick={(event) => event.stopPropagation()} // the row has an action of its own
        >
          no symbols
        </Link>
      )}
      {low_confidence && (
        <span className="badge low_confidence" title={FEW}>
          few<span className="long"> machines</span>
        </span>
      )}
    </span>
  );
}

/** A place in a binary, whose offset is never cut off. */
function Place({ name }: { name: string }) {
  const offset = offsetOf(name);
  return offset === '' ? (
    name
  ) : (
    <span className="place">
      <span>{name.slice(0, -offset.length)}</span>
      <span>{offset}</span>
    </span>
  );
}

interface AmountProps {
  /** `self` or `total`; prefix of the cell's description. Empty if there is only one column. */
  column: string;
  /** null if the response does not contain it. */
  estimate: Estimate | null;
  measure: Measure;
  /** The value of a bar at the column's full width. */
  full: number;
  low_confidence: boolean;
  sorted: boolean;
}

/** A value over its bar and whisker; the interval in numbers is in the title, and in a column of its own. */
export function Amount({ column, estimate, measure, full, low_confidence, sorted }: AmountProps) {
  if (estimate === null) {
    return (
      <span role="gridcell" className="number amount">
        <b aria-hidden="true">–</b>
        <span className="sr-only">{column} not available</span>
      </span>
    );
  }
  const careful = caution(estimate, low_confidence);
  const said = [`${column} ${spoken(measure, estimate)}`.trimStart(), careful]
    .filter((part) => part !== '')
    .join('. ');
  return (
    <span role="gridcell" className={sorted ? 'number amount sorted' : 'number amount'} title={said}>
      <Whisker estimate={estimate} full={full} low_confidence={low_confidence} />
      <b className={estimate.value > 0 && reachesZero(estimate) ? 'faint' : undefined} aria-hidden="true">
        {write(measure, estimate.value)}
      </b>
      <span className="sr-only">{said}</span>
    </span>
  );
}

interface RangeProps {
  estimate: Estimate | null;
  measure: Measure;
  /** Shown for a value without an interval. */
  otherwise: string;
}

/** The 95 % interval in numbers. */
export function Range({ estimate, measure, otherwise }: RangeProps) {
  return (
    <span role="gridcell" className="number interval">
      {(estimate && bracket(measure, estimate)) || otherwise}
    </span>
  );
}
