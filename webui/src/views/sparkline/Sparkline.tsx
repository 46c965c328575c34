/** A small line over time with its 95 % band; gaps where there is no value. A table has the same numbers. */
import { isBounded, type Estimate } from '../../estimates/interval.ts';
import { write, type Measure } from '../../estimates/measure.ts';
import { bracket } from '../../estimates/words.ts';
import { localMinute } from '../../selection/time.ts';
import { bandOf, lineOf } from './path.ts';

export interface Step {
  /** RFC 3339. */
  start: string;
  /** null: no data. */
  estimate: Estimate | null;
}

interface Props {
  /** What is shown: `share of memcpy`. */
  label: string;
  steps: readonly Step[];
  measure: Measure;
}

const WIDTH = 400;
const HEIGHT = 56;

export function Sparkline({ label, steps, measure }: Props) {
  const top = Math.max(1e-12, ...steps.map(({ estimate }) => estimate?.value ?? 0));
  // The band of a step with few profiles may reach far above: it is cut at twice the line.
  const full = Math.min(2 * top, Math.max(top, ...steps.map(({ estimate }) => estimate?.hi ?? 0)));
  const scale = { width: WIDTH, height: HEIGHT, full };
  const known = steps.filter(({ estimate }) => estimate !== null);
  const first = steps[0]?.start ?? '';
  const last = steps.at(-1)?.start ?? '';
  return (
    <figure className="sparkline">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}, ${localMinute(first)} to ${localMinute(last)}: at most ${write(measure, top)}`}
      >
        <path className="band" d={bandOf(steps, scale)} />
        <path className="line" d={lineOf(steps, scale)} />
      </svg>
      <figcaption>
        <span>{localMinute(first)}</span>
        <span>at most {write(measure, top)}</span>
        <span>{localMinute(last)}</span>
      </figcaption>
      <table className="sr-only">
        <caption>{label} over time</caption>
        <thead>
          <tr>
            <th scope="col">from</th>
            <th scope="col">value</th>
            <th scope="col">95 % interval</th>
          </tr>
        </thead>
        <tbody>
          {known.map(({ start, estimate }) => (
            <tr key={start}>
              <th scope="row">{localMinute(start)}</th>
              <td>{write(measure, estimate!.value)}</td>
              <td>{isBounded(estimate!) ? bracket(measure, estimate!) : 'none'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
