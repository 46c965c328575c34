/** Lines with 95 % bands over a numeric axis, such as slowdowns over frequencies or load over a request rate. */
import type { Estimate } from '../../estimates/interval.ts';
import { extent, linear, ticksOf } from './axes.ts';
import { ChartFigure } from './ChartFigure.tsx';
import { figure, write, type Unit } from './quantity.ts';

export interface LinePoint extends Estimate {
  x: number;
}

export interface Line {
  name: string;
  points: readonly LinePoint[];
  /** `line`: with its band; `naive`: dashed; `points`: marks with intervals, not connected. */
  as: 'line' | 'naive' | 'points';
}

export interface LineChartData {
  label: string;
  /** Names the axes. */
  over: string;
  of: string;
  xUnit: Unit;
  unit: Unit;
  lines: readonly Line[];
  /** A horizontal line, such as the load at which machines are full. */
  limit?: { value: number; name: string };
  /** Positions of the horizontal axis' numbers; default: round numbers. */
  xTicks?: readonly number[];
  /** The least value of the vertical axis; default: 0 or the least of the values. */
  least?: number;
}

const TOP = 12;
const BOTTOM = 42;
const LEFT = 72;
const RIGHT = 18;
const HEIGHT = 280;
const TICK_WIDTH = 84;

export function LineChart({ label, over, of, xUnit, unit, lines, limit, least, xTicks }: LineChartData) {
  const all = lines.flatMap((line) => line.points);
  const [x0, x1] = extent(all.map((p) => p.x));
  const [lowest, highest] = extent([...all.flatMap((p) => [p.value, p.lo, p.hi]), limit?.value]);
  const ticks = ticksOf(least ?? Math.min(0, lowest), highest);
  const y0 = Math.min(ticks[0], least ?? Math.min(0, lowest));
  const floor = HEIGHT - BOTTOM;
  const y = linear(y0, highest + 0.03 * (highest - y0), floor, TOP);
  const xs = [...new Set(all.map((p) => p.x))].sort((a, b) => a - b);
  return (
    <ChartFigure
      label={label}
      summary={summaryOf(label, lines, xUnit, unit)}
      legend={lines.map((line, k) => ({ name: line.name, style: `s${k + 1} ${line.as}` }))}
      heads={[over, ...lines.map((line) => line.name)]}
      rows={xs.map((x) => [
        write(x, xUnit),
        ...lines.map((line) => figure(line.points.find((p) => p.x === x) ?? null, unit)),
      ])}
    >
      {(width, titleId) => {
        const x = linear(x0, x1, LEFT, width - RIGHT);
        return (
          <svg className="chart-plot" width={width} height={HEIGHT} role="img" aria-labelledby={titleId}>
            {ticks.map((tick) => (
              <g key={tick}>
                <line
                  className={tick === 0 ? 'axis' : 'grid'}
                  x1={LEFT}
                  x2={width - RIGHT}
                  y1={y(tick)}
                  y2={y(tick)}
                />
                <text x={LEFT - 6} y={y(tick) + 4} textAnchor="end">
                  {write(tick, unit)}
                </text>
              </g>
            ))}
            {(xTicks ? sparse(xTicks, width) : ticksOf(x0, x1, width < 480 ? 3 : 6)).map((tick) => (
              <text key={tick} x={x(tick)} y={floor + 16} textAnchor="middle">
                {xUnit.digits(tick)}
              </text>
            ))}
            <text x={(LEFT + width - RIGHT) / 2} y={HEIGHT - 6} textAnchor="middle">
              {over}
            </text>
            <text transform={`translate(12 ${(TOP + floor) / 2}) rotate(-90)`} textAnchor="middle">
              {of}
            </text>
            {lines.map((line, k) => (
              <g key={line.name} className={`s${k + 1}`}>
                <LineShape line={line} x={x} y={y} at={k} />
              </g>
            ))}
            {limit && (
              <>
                <line
                  className="reference"
                  x1={LEFT}
                  x2={width - RIGHT}
                  y1={y(limit.value)}
                  y2={y(limit.value)}
                />
                <text x={width - RIGHT} y={y(limit.value) + 14} textAnchor="end">
                  {limit.name}
                </text>
              </>
            )}
          </svg>
        );
      }}
    </ChartFigure>
  );
}

/** As many of the ticks as have room for a date and a time. */
function sparse(ticks: readonly number[], width: number): number[] {
  const every = Math.max(1, Math.ceil((ticks.length * TICK_WIDTH) / (width - LEFT - RIGHT)));
  return ticks.filter((_, k) => k % every === 0);
}

interface ShapeProps {
  line: Line;
  x: (value: number) => number;
  y: (value: number) => number;
  at: number;
}

function LineShape({ line, x, y, at }: ShapeProps) {
  const points = [...line.points].sort((a, b) => a.x - b.x);
  if (line.as === 'points')
    return points.map((p) => (
      <g key={p.x}>
        {p.lo !== null && p.hi !== null && (
          <path className="whisker-line" d={`M${x(p.x)} ${y(p.lo)}V${y(p.hi)}`} />
        )}
        <Mark at={at} x={x(p.x)} y={y(p.value)} />
      </g>
    ));
  const bounded = points.filter((p) => p.lo !== null && p.hi !== null);
  const path = (of: readonly LinePoint[], value: (p: LinePoint) => number): string =>
    of.map((p) => `${x(p.x).toFixed(1)},${y(value(p)).toFixed(1)}`).join(' ');
  return (
    <>
      {line.as === 'line' && bounded.length > 1 && (
        <polygon
          className="band"
          points={`${path(bounded, (p) => p.lo!)} ${path(bounded.toReversed(), (p) => p.hi!)}`}
        />
      )}
      <polyline className={line.as} points={path(points, (p) => p.value)} />
      {line.as === 'line' && points.map((p) => <Mark key={p.x} at={at} x={x(p.x)} y={y(p.value)} />)}
    </>
  );
}

/** Lines differ by the shape of their marks, not only by colour. */
function Mark({ at, x, y }: { at: number; x: number; y: number }) {
  switch (at % 4) {
    case 0:
      return <circle className="fill" cx={x} cy={y} r={3.5} />;
    case 1:
      return <rect className="fill" x={x - 3.2} y={y - 3.2} width={6.4} height={6.4} />;
    case 2:
      return <path className="fill" d={`M${x} ${y - 4.4}l4.2 7.4h-8.4z`} />;
    default:
      return <path className="fill" d={`M${x} ${y - 4.6}l4.6 4.6l-4.6 4.6l-4.6 -4.6z`} />;
  }
}

function summaryOf(label: string, lines: readonly Line[], xUnit: Unit, unit: Unit): string {
  const said = lines.map(({ name, points }) => {
    if (points.length === 0) return `${name} without values`;
    const [first, last] = [points[0], points[points.length - 1]];
    return `${name} from ${figure(first, unit)} at ${write(first.x, xUnit)} to ${figure(last, unit)} at ${write(last.x, xUnit)}`;
  });
  return `${label}: ${said.join('; ')}`;
}
