/** The unit of all amounts of a page. */
import { MEASURE_MEANINGS, MEASURE_NAMES, MEASURES, type Measure } from '../estimates/measure.ts';
import type { GoShown } from './Page.tsx';

interface Props {
  measure: Measure;
  /** A price per core-hour is set. */
  priced: boolean;
  go: GoShown;
}

export function MeasureChoice({ measure, priced, go }: Props) {
  return (
    <select
      aria-label="unit"
      value={measure}
      title={`${MEASURE_NAMES[measure]}: ${MEASURE_MEANINGS[measure]} ( u )`}
      onChange={(e) => go({ measure: e.target.value as Measure }, 'replace')}
    >
      {MEASURES.map((m) => (
        <option key={m} value={m} disabled={m === 'money' && !priced}>
          {MEASURE_NAMES[m]}
          {m === 'money' && !priced ? ' (set prices in Settings)' : ''}
        </option>
      ))}
    </select>
  );
}
