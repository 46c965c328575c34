import {
  MEASURE_MEANINGS,
  MEASURE_NAMES,
  MEASURES,
  offered,
  type Ground,
  type Measure,
} from '../estimates/measure.ts';
import type { Go } from '../location/usePlace.ts';

interface Props {
  measure: Measure;
  /** undefined until the first response. */
  ground: Ground | undefined;
  go: Go;
}

export function MeasureChoice({ measure, ground, go }: Props) {
  const possible = ground === undefined ? MEASURES : offered(ground);
  return (
    <label className="field inline">
      Show
      <select
        aria-label="measure"
        value={measure}
        title={`${MEASURE_NAMES[measure]}: ${MEASURE_MEANINGS[measure]} ( u )`}
        onChange={(e) => go({ measure: e.target.value as Measure }, 'replace')}
      >
        {MEASURES.map((m) => (
          <option key={m} value={m} disabled={!possible.includes(m)}>
            {MEASURE_NAMES[m]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The next measure that this response supports, for a key. */
export function nextMeasure(measure: Measure, ground: Ground | undefined): Measure {
  const possible = ground === undefined ? MEASURES : offered(ground);
  return possible[(possible.indexOf(measure) + 1) % possible.length];
}
