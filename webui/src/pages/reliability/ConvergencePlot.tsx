/** Distance against visits, both logarithmic: where the law holds, the curve is a straight line. */
import { useId } from 'react';
import { count } from '../../selection/numbers.ts';
import { curveOf, distanceOf, pointsOf, ticks, visitsFor, type Fit } from './convergence.ts';

const WIDTH = 620;
const HEIGHT = 300;
const LEFT = 52;
const RIGHT = 20;
const TOP = 14;
const BOTTOM = 44;

interface Props {
  fit: Fit;
  /** The desired distance; drawn with the visits it requires. */
  wanted: number;
}

export function ConvergencePlot({ fit, wanted }: Props) {
  const title = useId();
  const points = pointsOf(fit);
  const visits = fit.visits;
  const needed = visitsFor(fit, wanted);
  const xs = [...points.map((p) => p.visits), visits, needed];
  const [x0, x1] = [Math.min(...xs) / 1.3, Math.max(...xs) * 1.3];
  const ys = [...points.map((p) => p.distance), distanceOf(fit, x0), distanceOf(fit, x1), wanted];
  const [y0, y1] = [Math.min(...ys) / 1.15, Math.max(...ys) * 1.15];
  const x = (v: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(v / x0)) / Math.log(x1 / x0);
  const y = (v: number): number => TOP + ((HEIGHT - TOP - BOTTOM) * Math.log(y1 / v)) / Math.log(y1 / y0);
  const floor = HEIGHT - BOTTOM;
  return (
    <svg className="plot" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby={title}>
      <title id={title}>
        {`Distance by number of visits: ${points.map((p) => `${p.distance.toFixed(2)} at ${count(p.visits)}`).join(', ')}`}
      </title>
      {ticks(x0, x1).map((v) => (
        <g key={v}>
          <line className="grid" x1={x(v)} x2={x(v)} y1={TOP} y2={floor} />
          <text className="tick" x={x(v)} y={floor + 16} textAnchor="middle">
            {count(v)}
          </text>
        </g>
      ))}
      {ticks(y0, y1).map((v) => (
        <g key={v}>
          <line className="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(v)} y2={y(v)} />
          <text className="tick" x={LEFT - 6} y={y(v) + 4} textAnchor="end">
            {v}
          </text>
        </g>
      ))}
      <text className="axis-name" x={(LEFT + WIDTH - RIGHT) / 2} y={HEIGHT - 8} textAnchor="middle">
        visits with samples of the selection
      </text>
      <text
        className="axis-name"
        transform={`translate(12 ${(TOP + floor) / 2}) rotate(-90)`}
        textAnchor="middle"
      >
        distance from the fleet’s profile
      </text>
      <polyline
        className="wanted"
        points={`${LEFT},${y(wanted)} ${x(needed)},${y(wanted)} ${x(needed)},${floor}`}
      />
      <polyline
        className="fit"
        points={curveOf(fit, x0, x1)
          .map((p) => `${x(p.visits).toFixed(1)},${y(p.distance).toFixed(1)}`)
          .join(' ')}
      />
      {points.map((p) => (
        <circle key={p.visits} className="point" cx={x(p.visits)} cy={y(p.distance)} r={4} />
      ))}
      <g className="now">
        <circle cx={x(visits)} cy={y(distanceOf(fit, visits))} r={6} />
        <text
          x={x(visits) + (x(visits) > 0.75 * WIDTH ? 4 : 9)}
          y={y(distanceOf(fit, visits)) - 11}
          textAnchor={x(visits) > 0.75 * WIDTH ? 'end' : 'start'}
        >
          now: {count(visits)}
        </text>
      </g>
    </svg>
  );
}
