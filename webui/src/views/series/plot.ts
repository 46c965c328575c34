/** The series as a uPlot chart. The only module that imports uPlot: its chunk is fetched when a chart is shown. */
import uPlot from 'uplot';
import { write } from '../../estimates/measure.ts';
import { faded, readColours, type SeriesColours } from './colours.ts';
import { ceilingOf, stepAt, type Series } from './series.ts';
import { tickLabels } from './words.ts';

export interface Callbacks {
  /** The step under the cursor; null: none. */
  onStep: (step: number | null) => void;
  /** A range was dragged: its first and last step. */
  onSteps: (first: number, last: number) => void;
  /** The axes were laid out: pixels of a moment from the left of the plot, and the plot's left edge and width. */
  onLayout: (leftOf: (at: number) => number, left: number, width: number) => void;
}

export interface Drawn {
  resize: (width: number, height: number) => void;
  /** Shows the cursor at a step and the chosen range of steps. */
  point: (step: number | null, anchor: number | null) => void;
  destroy: () => void;
}

const FONT = '12px system-ui, sans-serif';
/** Pixels of a drag that select a range; less is a click. */
const DRAG_PX = 6;

export function draw(
  into: HTMLElement,
  series: Series,
  marks: readonly { at: number }[],
  height: number,
  callbacks: Callbacks,
): Drawn {
  const colours = readColours(into);
  const middles = series.starts.map((start, k) => (start + series.ends[k]) / 2);
  const columns = series.lines.flatMap(({ points }) => [
    points.map((point) => point?.hi ?? null),
    points.map((point) => point?.lo ?? null),
    points.map((point) => point?.value ?? null),
  ]);
  const options: uPlot.Options = {
    width: Math.max(into.clientWidth, 120),
    height,
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 7 },
      drag: { x: true, y: false, setScale: false, dist: DRAG_PX },
    },
    scales: {
      x: { time: true, range: [series.starts[0] ?? 0, series.ends.at(-1) ?? 1] },
      y: { range: [0, ceilingOf(series)] },
    },
    axes: axesOf(series, colours),
    series: [{}, ...seriesOptions(series, colours)],
    bands: series.lines.map((_, k) => ({
      series: [3 * k + 1, 3 * k + 2],
      fill: faded(colourOf(series, k, colours), 0.18),
    })),
    hooks: {
      drawClear: [(chart) => hatch(chart, series, colours)],
      draw: [
        (chart) => drawMarks(chart, marks, colours),
        (chart) =>
          callbacks.onLayout(
            (at) => chart.valToPos(at, 'x'),
            chart.bbox.left / devicePixelRatio,
            chart.bbox.width / devicePixelRatio,
          ),
      ],
      setCursor: [
        (chart) => {
          const left = chart.cursor.left ?? -1;
          callbacks.onStep(left < 0 ? null : stepAt(series, chart.posToVal(left, 'x')));
        },
      ],
      setSelect: [
        (chart) => {
          const { left, width } = chart.select;
          if (width < DRAG_PX) return;
          const first = stepAt(series, chart.posToVal(left, 'x'));
          const last = stepAt(series, chart.posToVal(left + width, 'x'));
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          callbacks.onSteps(first, last);
        },
      ],
    },
  };
  const chart = new uPlot(options, [middles, ...columns], into);
  return {
    resize: (width, tall) => chart.setSize({ width: Math.max(width, 120), height: tall }),
    point: (step, anchor) => point(chart, series, middles, step, anchor),
    destroy: () => chart.destroy(),
  };
}

function point(chart: uPlot, series: Series, middles: number[], step: number | null, anchor: number | null) {
  if (step === null) return chart.setCursor({ left: -10, top: -10 }, false);
  chart.setCursor({ left: chart.valToPos(middles[step], 'x'), top: 0 }, false);
  const [first, last] = [Math.min(step, anchor ?? step), Math.max(step, anchor ?? step)];
  const left = chart.valToPos(series.starts[first], 'x');
  const width = anchor === null ? 0 : chart.valToPos(series.ends[last], 'x') - left;
  chart.setSelect({ left, top: 0, width, height: width && chart.bbox.height / devicePixelRatio }, false);
}

function colourOf(series: Series, k: number, colours: SeriesColours): string {
  return series.lines[k].role === 'remainder' ? colours.rest : colours.lines[k % colours.lines.length];
}

/** For each line its bounds, which are not drawn, and its values. */
function seriesOptions(series: Series, colours: SeriesColours): uPlot.Series[] {
  const few = series.starts.length <= 60;
  return series.lines.flatMap(({ name, role }, k) => [
    { width: 0, points: { show: false } },
    { width: 0, points: { show: false } },
    {
      label: name,
      stroke: colourOf(series, k, colours),
      width: 1.75,
      spanGaps: false,
      ...(role === 'remainder' ? { dash: [4, 3] } : {}),
      // Without a neighbour a value has no line: it is always a point.
      points: few ? { show: true, size: 4 } : {},
    },
  ]);
}

function axesOf(series: Series, colours: SeriesColours): uPlot.Axis[] {
  const common = {
    stroke: colours.mute,
    font: FONT,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { stroke: colours.grid, width: 1, size: 4 },
  };
  return [
    { ...common, space: 64, size: 40, values: (_, ticks, __, ___, step) => tickLabels(ticks, step) },
    {
      ...common,
      space: 28,
      size: (_, labels) => 18 + 7 * Math.max(1, ...(labels ?? []).map((label) => label.length)),
      values: (_, ticks) => ticks.map((tick) => axisText(series, tick)),
    },
  ];
}

/** Without needless decimals: `20 %`, not `20.00 %`. */
function axisText({ measure }: Series, value: number): string {
  if (measure === 'share') return `${Number((100 * value).toPrecision(6))} %`;
  return write(measure, value)
    .replace(/(\.\d*?)0+(?=$|\s)/, '$1')
    .replace(/\.(?=$|\s)/, '');
}

/** Steps with a doubt, and gaps. */
function hatch(chart: uPlot, series: Series, colours: SeriesColours): void {
  const { ctx, bbox } = chart;
  series.doubts.forEach((doubt, k) => {
    if (doubt === null) return;
    const left = chart.valToPos(series.starts[k], 'x', true);
    const right = chart.valToPos(series.ends[k], 'x', true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, right - left, bbox.height);
    ctx.clip();
    ctx.strokeStyle = colours.hatch;
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    const gap = (doubt === 'partial' ? 9 : 5) * devicePixelRatio;
    for (let x = left - bbox.height; x < right; x += gap) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
  });
}

function drawMarks(chart: uPlot, marks: readonly { at: number }[], colours: SeriesColours): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.strokeStyle = colours.accent;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { at } of marks) {
    const x = Math.round(chart.valToPos(at, 'x', true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
