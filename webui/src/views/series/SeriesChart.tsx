/**
 * Lines over time with 95 % bands. A drag selects a range of whole steps; with the keyboard: arrows move by a step,
 * Shift with arrows selects, Enter applies. The table has the same numbers.
 */
import { useCallback, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { useDark } from '../../app/theme.ts';
import { CHART_FORMS, useChartForm } from '../../app/useChartForm.ts';
import { rfc3339 } from '../../selection/time.ts';
import { Segments } from '../../ui/Segments.tsx';
import { Legend } from './Legend.tsx';
import { placeMarks, type Mark, type PlacedMark } from './marks.ts';
import type { Callbacks, Drawn } from './plot.ts';
import { rangeOf, type Series, type SeriesLine } from './series.ts';
import { SeriesTable } from './SeriesTable.tsx';
import { stepSummary, summaryOf } from './words.ts';
import './series.css';

interface Props {
  /** Names the chart: `CPU of memcpy over time`. */
  label: string;
  series: Series;
  marks?: readonly Mark[];
  onMark?: (mark: Mark) => void;
  /** A range was chosen, in RFC 3339. Missing: ranges cannot be chosen. */
  onRange?: (from: string, to: string) => void;
  /** The address of a line's own page; null: it has none. */
  linkOf?: (line: SeriesLine) => string | null;
  /** Pixels. */
  height?: number;
}

const MARK_ROWS = 2;
const NO_MARKS: readonly Mark[] = [];

export function SeriesChart({
  label,
  series,
  marks = NO_MARKS,
  onMark,
  onRange,
  linkOf,
  height = 240,
}: Props) {
  const [as, setAs] = useChartForm();
  const [step, setStep] = useState<number | null>(null);
  return (
    <figure className="series" aria-label={label}>
      <div className="series-top">
        <Legend series={series} step={step} {...(linkOf ? { linkOf } : {})} />
        <Segments label={`${label}: chart or table`} value={as} options={CHART_FORMS} onChange={setAs} />
      </div>
      {as === 'table' ? (
        <SeriesTable label={label} series={series} height={height} />
      ) : (
        <Plot
          label={label}
          series={series}
          marks={marks}
          height={height}
          step={step}
          setStep={setStep}
          {...(onMark ? { onMark } : {})}
          {...(onRange ? { onRange } : {})}
        />
      )}
    </figure>
  );
}

interface PlotProps extends Omit<Props, 'linkOf'> {
  marks: readonly Mark[];
  height: number;
  step: number | null;
  setStep: (step: number | null) => void;
}

function Plot({ label, series, marks, onMark, onRange, height, step, setStep }: PlotProps) {
  const dark = useDark();
  const summary = useId();
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const [spoken, setSpoken] = useState('');
  const [left, setLeft] = useState(0);
  const [placed, setPlaced] = useState<PlacedMark[]>([]);
  const [failed, setFailed] = useState(false);

  const choose = useCallback(
    (first: number, last: number) => {
      const { from, to } = rangeOf(series, first, last);
      onRange?.(rfc3339(1000 * from), rfc3339(1000 * to));
    },
    [series, onRange],
  );
  const callbacks = useRef<Callbacks>(null!);
  callbacks.current = {
    onStep: setStep,
    onSteps: choose,
    onLayout: (leftOf, from, width) => {
      setLeft(from);
      setPlaced(placeMarks(marks, leftOf, width, MARK_ROWS));
    },
  };

  useEffect(() => {
    const into = place.current!;
    let gone = false;
    let observer: ResizeObserver | null = null;
    import('./plot.ts').then(
      ({ draw }) => {
        if (gone) return;
        const later: Callbacks = {
          onStep: (at) => callbacks.current.onStep(at),
          onSteps: (first, last) => callbacks.current.onSteps(first, last),
          onLayout: (leftOf, from, width) => callbacks.current.onLayout(leftOf, from, width),
        };
        drawn.current = draw(into, series, marks, height, later);
        observer = new ResizeObserver(() => drawn.current?.resize(into.clientWidth, height));
        observer.observe(into);
      },
      () => setFailed(true),
    );
    return () => {
      gone = true;
      observer?.disconnect();
      drawn.current?.destroy();
      drawn.current = null;
    };
  }, [series, marks, height, dark]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const last = series.starts.length - 1;
    const to = targetOf(event.key, step, last);
    if (to !== null) {
      const from = event.shiftKey && onRange ? (anchor ?? step ?? to) : null;
      setAnchor(from);
      drawn.current?.point(to, from);
      setStep(to);
      setSpoken(stepSummary(series, to));
    } else if (event.key === 'Enter' && step !== null && onRange) {
      choose(anchor ?? step, step);
    } else if (event.key === 'Escape' && step !== null) {
      setAnchor(null);
      setStep(null);
      drawn.current?.point(null, null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const rows = useMemo(() => Math.max(0, ...placed.map(({ row }) => (row ?? 0) + 1)), [placed]);
  return (
    <>
      {failed && <p className="note">The chart could not be loaded. The table has the same numbers.</p>}
      {placed.length > 0 && (
        <div className="series-marks" data-rows={rows} role="group" aria-label={`${label}: events`}>
          {placed.map((mark) => (
            <button
              key={mark.id}
              type="button"
              className="series-mark"
              title={mark.title}
              style={{ left: left + mark.left, top: 20 * (mark.row ?? 0) }}
              onClick={() => onMark?.(mark)}
            >
              {mark.row === null ? <span className="sr-only">{mark.text}</span> : mark.text}
              {mark.row === null && '•'}
            </button>
          ))}
        </div>
      )}
      <div
        ref={place}
        className="series-plot"
        style={{ height }}
        tabIndex={0}
        role="group"
        aria-roledescription="chart"
        aria-label={label}
        aria-describedby={summary}
        onKeyDown={onKeyDown}
      />
      <p id={summary} className="sr-only">
        {summaryOf(series)}
        {onRange && ' Arrow keys move by a step; Shift with arrow keys chooses a range; Enter shows it.'}
      </p>
      <p className="sr-only" aria-live="polite">
        {spoken}
      </p>
    </>
  );
}

function targetOf(key: string, step: number | null, last: number): number | null {
  if (last < 0) return null;
  switch (key) {
    case 'ArrowLeft':
      return step === null ? last : Math.max(0, step - 1);
    case 'ArrowRight':
      return step === null ? 0 : Math.min(last, step + 1);
    case 'Home':
      return 0;
    case 'End':
      return last;
    default:
      return null;
  }
}
