/** Horizontal bars with 95 % intervals: one group of bars for each row, one bar for each series. */
import type { Estimate } from '../../estimates/interval.ts';
import { extent, fitted, linear, ticksOf } from './axes.ts';
import { ChartFigure } from './ChartFigure.tsx';
import { figure, write, type Unit } from './quantity.ts';

export interface BarRow {
  name: string;
  /** One for each series. */
  values: readonly (Estimate | null)[];
}

export interface BarChartData {
  label: string;
  unit: Unit;
  series: readonly string[];
  rows: readonly BarRow[];
  /** A value to compare with, such as 1 for quotients, its name, and a range that the axis contains. */
  reference?: { value: number; name: string; around?: readonly [number, number] };
}

const BAR = 13;
const GAP = 9;
const BOTTOM = 24;
/** Of the widest usual characters: names in capitals or with underscores are not cut. */
const CHARACTER = 7.3;

export function BarChart({ label, unit, series, rows, reference }: BarChartData) {
  // Quotients are compared with their reference: bars from 0 would hide what differs.
  const base = reference?.value ?? 0;
  const [lo, hi] = extent([
    base,
    ...(reference?.around ?? []),
    ...rows.flatMap((row) => row.values.flatMap((v) => (v ? [v.value, v.lo, v.hi] : []))),
  ]);
  const group = series.length * BAR + GAP;
  const height = rows.length * group + BOTTOM;
  return (
    <ChartFigure
      label={label}
      summary={summaryOf(label, unit, series, rows)}
      legend={series.map((name, k) => ({ name, style: `s${k + 1}` }))}
      heads={['', ...series]}
      rows={rows.map((row) => [row.name, ...row.values.map((v) => figure(v, unit))])}
    >
      {(width, titleId) => {
        const longest = Math.max(...rows.map((row) => row.name.length), 4);
        const room = Math.min(longest, Math.floor((0.38 * width) / CHARACTER));
        const left = room * CHARACTER + 10;
        const ticks = ticksOf(lo, hi, width < 480 ? 3 : 6);
        const margin = 0.02 * (hi - lo);
        const x = linear(lo < base ? lo - margin : lo, hi + margin, left, width - 16);
        const floor = height - BOTTOM;
        return (
          <svg className="chart-plot" width={width} height={height} role="img" aria-labelledby={titleId}>
            {ticks.map((tick) => (
              <g key={tick}>
                <line className={tick === 0 ? 'axis' : 'grid'} x1={x(tick)} x2={x(tick)} y1={0} y2={floor} />
                <text x={x(tick)} y={height - 7} textAnchor="middle">
                  {write(tick, unit)}
                </text>
              </g>
            ))}
            {rows.map((row, r) => (
              <g key={row.name} transform={`translate(0 ${r * group + GAP / 2})`}>
                <title>{`${row.name}: ${row.values.map((v, k) => `${series[k]} ${figure(v, unit)}`).join(', ')}`}</title>
                <text className="name" x={left - 8} y={(series.length * BAR) / 2 + 4} textAnchor="end">
                  {fitted(row.name, room)}
                </text>
                {row.values.map((v, k) => v && <Bar key={series[k]} at={k} estimate={v} base={base} x={x} />)}
              </g>
            ))}
            {reference && (
              <line
                className="reference"
                x1={x(reference.value)}
                x2={x(reference.value)}
                y1={0}
                y2={floor}
                aria-label={reference.name}
              />
            )}
          </svg>
        );
      }}
    </ChartFigure>
  );
}

interface BarProps {
  at: number;
  estimate: Estimate;
  /** Where the bar begins. */
  base: number;
  x: (value: number) => number;
}

function Bar({ at, estimate, base, x }: BarProps) {
  const { value, lo, hi } = estimate;
  const top = at * BAR + 1;
  const middle = top + (BAR - 2) / 2;
  const [from, to] = [Math.min(x(base), x(value)), Math.max(x(base), x(value))];
  return (
    <g className={`s${at + 1}`}>
      <rect className="bar" x={from} y={top} width={Math.max(1, to - from)} height={BAR - 2} />
      {lo !== null && hi !== null && (
        <path
          className="whisker-line"
          d={`M${x(lo)} ${middle}H${x(hi)}M${x(lo)} ${middle - 3}v6M${x(hi)} ${middle - 3}v6`}
        />
      )}
    </g>
  );
}

const SPOKEN = 5;

function summaryOf(label: string, unit: Unit, series: readonly string[], rows: readonly BarRow[]): string {
  const said = rows
    .slice(0, SPOKEN)
    .map((row) => `${row.name} ${row.values.map((v, k) => `${series[k]} ${figure(v, unit)}`).join(', ')}`);
  const rest = rows.length > SPOKEN ? `; ${rows.length - SPOKEN} more in the table` : '';
  return `${label}: ${said.join('; ')}${rest}`;
}
