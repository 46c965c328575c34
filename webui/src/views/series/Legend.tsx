/** The lines of a series with their colours, and their values at the step under the cursor. */
import { write } from '../../estimates/measure.ts';
import { bracket } from '../../estimates/words.ts';
import { Link } from 'wouter';
import { lineColour } from './colours.ts';
import type { Series, SeriesLine } from './series.ts';
import { DOUBTS, stepName } from './words.ts';

interface Props {
  series: Series;
  step: number | null;
  linkOf?: (line: SeriesLine) => string | null;
}

export function Legend({ series, step, linkOf }: Props) {
  const doubt = step === null ? null : series.doubts[step];
  return (
    <div className="series-legend">
      {series.lines.map((line, k) => {
        const point = step === null ? null : line.points[step];
        const href = linkOf?.(line) ?? null;
        return (
          <span key={line.id} className="series-entry">
            <i className="swatch" style={{ background: lineColour(k, line.role) }} aria-hidden="true" />
            {href === null ? line.name : <Link href={href}>{line.name}</Link>}
            {step !== null && (
              <b>
                {point === null ? ' –' : ` ${write(series.measure, point.value)}`}
                {point !== null && <span className="bracket"> {bracket(series.measure, point)}</span>}
              </b>
            )}
          </span>
        );
      })}
      <span className="series-step">
        {step === null ? '' : `${stepName(series, step)}${doubt === null ? '' : `: ${DOUBTS[doubt]}`}`}
      </span>
    </div>
  );
}
