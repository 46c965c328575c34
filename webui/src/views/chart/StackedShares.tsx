/** Shares of a whole over time: a column for each step, a layer for each value. Steps without data stay empty. */
import { localMinute } from '../../selection/time.ts';
import { ChartFigure } from './ChartFigure.tsx';
import { linear, ticksOf } from './axes.ts';
import { figure, SHARE, write } from './quantity.ts';
import type { Estimate } from '../../estimates/interval.ts';

export interface Layer {
  name: string;
  /** One for each step; null: no data. */
  points: readonly (Estimate | null)[];
}

export interface StackedSharesData {
  label: string;
  /** Starts of the steps, RFC 3339. */
  times: readonly string[];
  layers: readonly Layer[];
}

const TOP = 8;
const BOTTOM = 28;
const LEFT = 46;
const HEIGHT = 260;
/** Colours; further values are drawn together with the rest. */
const COLOURS = 8;
const TICK_WIDTH = 110;

export function StackedShares({ label, times, layers }: StackedSharesData) {
  const shown = layers.slice(0, COLOURS);
  const floor = HEIGHT - BOTTOM;
  const y = linear(0, 1, floor, TOP);
  return (
    <ChartFigure
      label={label}
      summary={summaryOf(label, times, shown)}
      legend={[
        ...shown.map(({ name }, k) => ({ name: `${k + 1} ${name || 'not known'}`, style: `s${k + 1}` })),
        { name: 'others', style: 'others' },
      ]}
      heads={['from', ...layers.map(({ name }) => name || 'not known')]}
      rows={times.map((time, t) => [
        localMinute(time),
        ...layers.map(({ points }) => figure(points[t] ?? null, SHARE)),
      ])}
    >
      {(width, titleId) => {
        const step = (width - LEFT - 8) / Math.max(1, times.length);
        const every = Math.max(1, Math.ceil(TICK_WIDTH / step));
        return (
          <svg className="chart-plot" width={width} height={HEIGHT} role="img" aria-labelledby={titleId}>
            {ticksOf(0, 1).map((tick) => (
              <g key={tick}>
                <line className="grid" x1={LEFT} x2={width - 8} y1={y(tick)} y2={y(tick)} />
                <text x={LEFT - 6} y={y(tick) + 4} textAnchor="end">
                  {100 * tick} %
                </text>
              </g>
            ))}
            {times.map((time, t) => {
              const left = LEFT + t * step;
              let below = 0;
              const has = shown.some(({ points }) => points[t] != null);
              return (
                <g key={time}>
                  <title>{`${localMinute(time)}: ${has ? shown.map(({ name, points }) => `${name} ${figure(points[t] ?? null, SHARE)}`).join(', ') : 'no data'}`}</title>
                  {has && (
                    <rect
                      className="others"
                      x={left}
                      y={y(1)}
                      width={Math.max(1, step - 1)}
                      height={floor - y(1)}
                    />
                  )}
                  {shown.map(({ name, points }, k) => {
                    const value = points[t]?.value ?? 0;
                    const [from, to] = [below, below + value];
                    below = to;
                    return (
                      <g key={name} className={`s${k + 1}`}>
                        <rect
                          className="layer"
                          x={left}
                          y={y(to)}
                          width={Math.max(1, step - 1)}
                          height={y(from) - y(to)}
                        />
                      </g>
                    );
                  })}
                  {t % every === 0 && left + TICK_WIDTH / 2 < width && (
                    <text x={left} y={HEIGHT - 8}>
                      {localMinute(time).slice(5)}
                    </text>
                  )}
                </g>
              );
            })}
            <Names layers={shown} left={LEFT} step={step} steps={times.length} y={y} />
          </svg>
        );
      }}
    </ChartFigure>
  );
}

interface NamesProps {
  layers: readonly Layer[];
  left: number;
  step: number;
  steps: number;
  y: (value: number) => number;
}

/** A layer's number in the legend, where the layer is highest: colour is not the only mark. */
function Names({ layers, left, step, steps, y }: NamesProps) {
  if (step < 9) return null;
  return layers.map(({ name }, k) => {
    let best = { height: 0, middle: 0, at: 0 };
    for (let t = 0; t < steps; t++) {
      const below = layers.slice(0, k).reduce((sum, layer) => sum + (layer.points[t]?.value ?? 0), 0);
      const value = layers[k].points[t]?.value ?? 0;
      const height = y(below) - y(below + value);
      if (height > best.height) best = { height, middle: y(below + value / 2), at: t };
    }
    if (best.height < 13) return null;
    const x = left + (best.at + 0.5) * step;
    return (
      <text key={name} className="layer-name" x={x} y={best.middle + 4} textAnchor="middle">
        {k + 1}
      </text>
    );
  });
}

function summaryOf(label: string, times: readonly string[], layers: readonly Layer[]): string {
  const said = layers.map(({ name, points }) => {
    const known = points.flatMap((p) => (p ? [p.value] : []));
    return known.length === 0
      ? `${name} without data`
      : `${name} from ${write(known[0], SHARE)} to ${write(known[known.length - 1], SHARE)}`;
  });
  return `${label}, ${times.length} steps: ${said.join('; ')}`;
}
