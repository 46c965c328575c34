/** A file's text with self and total in front of each line, and a strip of its hot lines. Only visible lines are in the DOM. */
import { amountOf, measured, type Ground, type Measure, write } from '../../estimates/measure.ts';
import { spoken } from '../../estimates/words.ts';
import { useVirtualRows } from '../../ui/useVirtualRows.ts';
import { CodeText } from './CodeText.tsx';
import type { Highlighting } from './parts.ts';
import { stripesOf, type AnnotatedSource, type SourceLine } from './annotated.ts';
import './source.css';

interface Props {
  label: string;
  source: AnnotatedSource;
  /** undefined: not known, or not yet. */
  highlighting: Highlighting | undefined;
  measure: Measure;
  ground: Ground;
  /** The chosen line; 0: none. */
  line: number;
  onLine: (line: number) => void;
}

/** Pixels; the same in source.css. */
const ROW = 20;
const STRIPES = 300;

export function SourceView({ label, source, highlighting, measure, ground, line, onLine }: Props) {
  const { lines } = source;
  const { ref, onScroll, first, last } = useVirtualRows(lines.length, ROW, line - 1);
  return (
    <div className="source-view">
      <div
        ref={ref}
        className="source-lines"
        role="table"
        aria-label={label}
        aria-rowcount={lines.length}
        tabIndex={0}
        onScroll={onScroll}
      >
        <div className="source-head" aria-hidden="true">
          <span className="cost">total</span>
          <span className="cost">self</span>
        </div>
        <div role="rowgroup" style={{ height: lines.length * ROW }}>
          {lines.slice(first, last).map((shown) => (
            <Row
              key={shown.number}
              line={shown}
              highlighting={highlighting}
              most={source.most}
              measure={measure}
              ground={ground}
              chosen={shown.number === line}
              onLine={onLine}
            />
          ))}
        </div>
      </div>
      <svg className="source-strip" viewBox="0 0 10 1000" preserveAspectRatio="none" aria-hidden="true">
        {stripesOf(source, STRIPES).map(({ line: hottest, at, heat }) => (
          <rect
            key={hottest}
            x={10 - 10 * Math.max(0.25, heat)}
            y={1000 * at}
            width={10 * Math.max(0.25, heat)}
            height={1000 / STRIPES + 2}
            onClick={() => onLine(hottest)}
          />
        ))}
        {line > 0 && (
          <rect className="here" x="0" y={(1000 * (line - 1)) / lines.length} width="10" height="3" />
        )}
      </svg>
    </div>
  );
}

interface RowProps {
  line: SourceLine;
  highlighting: Highlighting | undefined;
  most: number;
  measure: Measure;
  ground: Ground;
  chosen: boolean;
  onLine: (line: number) => void;
}

function Row({
  line: { number, text, cost },
  highlighting,
  most,
  measure,
  ground,
  chosen,
  onLine,
}: RowProps) {
  const total = cost && measured(amountOf({ ...cost }, 'total'), measure, ground);
  const self = cost && measured(amountOf({ ...cost }, 'self'), measure, ground);
  return (
    <div
      role="row"
      aria-rowindex={number}
      aria-current={chosen ? 'true' : undefined}
      className="source-row"
      style={{ top: (number - 1) * ROW }}
    >
      <span
        role="cell"
        className="cost"
        title={total === null ? undefined : `total ${spoken(measure, total)}`}
      >
        {cost !== null && most > 0 && (
          <i className="bar" style={{ width: `${(100 * cost.total_share) / most}%` }} aria-hidden="true" />
        )}
        <b>{total === null ? '' : write(measure, total.value)}</b>
      </span>
      <span role="cell" className="cost" title={self === null ? undefined : `self ${spoken(measure, self)}`}>
        {cost !== null && most > 0 && (
          <i className="bar" style={{ width: `${(100 * cost.self_share) / most}%` }} aria-hidden="true" />
        )}
        <b>{self === null || self.value === 0 ? '' : write(measure, self.value)}</b>
      </span>
      <span role="rowheader" className="line-number">
        <button type="button" tabIndex={-1} onClick={() => onLine(number)}>
          {number}
        </button>
      </span>
      <span role="cell" className="text">
        <CodeText text={text} number={number} highlighting={highlighting} />
      </span>
    </div>
  );
}
