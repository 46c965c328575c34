/** The function's total over the range. */
import { useCallback, useMemo } from 'react';
import { useAnswer } from '../../api/useAnswer.ts';
import { groundOf, MEASURE_NAMES } from '../../estimates/measure.ts';
import type { SelectionQuery } from '../../selection/selection.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { FlameSkeleton } from '../../ui/states/Skeleton.tsx';
import { seriesOf, type SeriesAnswer } from '../../views/series/series.ts';
import { SeriesChart } from '../../views/series/SeriesChart.tsx';
import type { FunctionAnswer, PanelProps } from './types.ts';

interface Props extends PanelProps {
  fn: FunctionAnswer;
  /** The selection of stacks that contain it. */
  through: SelectionQuery;
  price: number | null;
}

export function OverTime({ fn, through, price, enabled, place, go }: Props) {
  const answer = useAnswer('/api/v1/series', { ...through, share: 'total', points: 60 }, { enabled });
  const onRange = useCallback((from: string, to: string) => go({ from, to }), [go]);
  return (
    <section className="panel wide" aria-label="over time">
      <h2>
        Over time
        <span className="note">
          drag to zoom in
          {fn.others_total > 0 && '; stacks with a function of this name and a frame of this binary'}
        </span>
      </h2>
      <Answered
        query={answer}
        what="the function over time"
        skeleton={<FlameSkeleton />}
        shown={{ place, go }}
      >
        {(data) => (
          <Chart answer={data} name={fn.name} measure={place.measure} price={price} onRange={onRange} />
        )}
      </Answered>
    </section>
  );
}

interface ChartProps {
  answer: SeriesAnswer;
  name: string;
  measure: PanelProps['place']['measure'];
  price: number | null;
  onRange: (from: string, to: string) => void;
}

function Chart({ answer, name, measure, price, onRange }: ChartProps) {
  const series = useMemo(() => {
    const drawn = seriesOf(answer, measure, groundOf(answer.totals, answer.selection.select, price));
    const whole = drawn.lines.filter(({ role }) => role === 'whole');
    return {
      ...drawn,
      lines: whole.map((line) => ({ ...line, name: `total, ${MEASURE_NAMES[drawn.measure]}` })),
    };
  }, [answer, measure, price]);
  return <SeriesChart label={`${name} over time`} series={series} onRange={onRange} height={200} />;
}
