/** The CPU time of the machine over the range. */
import { useCallback, useMemo } from 'react';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import type { GoShown, Shown } from '../../app/Page.tsx';
import { groundOf, MEASURE_NAMES } from '../../estimates/measure.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { FlameSkeleton } from '../../ui/states/Skeleton.tsx';
import { seriesOf, type SeriesAnswer } from '../../views/series/series.ts';
import { SeriesChart } from '../../views/series/SeriesChart.tsx';

interface Props {
  /** With the machine as a filter. */
  place: Shown;
  go: GoShown;
  price: number | null;
}

export function CpuOverTime({ place, go, price }: Props) {
  const { asOf } = useAsOf();
  const answer = useAnswer('/api/v1/series', {
    ...selectionOf(place, asOf),
    share: 'total',
    points: 60,
  });
  const onRange = useCallback((from: string, to: string) => go({ from, to }), [go]);
  return (
    <section className="panel wide" aria-label="CPU over time">
      <h2>
        CPU over time <span className="note">drag to zoom in; gaps have no profile</span>
      </h2>
      <Answered
        query={answer}
        what="the machine over time"
        skeleton={<FlameSkeleton />}
        shown={{ place, go }}
      >
        {(data) => <Chart answer={data} measure={place.measure} price={price} onRange={onRange} />}
      </Answered>
    </section>
  );
}

interface ChartProps {
  answer: SeriesAnswer;
  measure: Shown['measure'];
  price: number | null;
  onRange: (from: string, to: string) => void;
}

function Chart({ answer, measure, price, onRange }: ChartProps) {
  const series = useMemo(() => {
    // A share of the machine's own time says nothing about its size: cores are the default.
    const wanted = measure === 'share' ? 'cores' : measure;
    const drawn = seriesOf(answer, wanted, groundOf(answer.totals, answer.selection.select, price));
    const whole = drawn.lines.filter(({ role }) => role === 'whole');
    return {
      ...drawn,
      lines: whole.map((line) => ({ ...line, name: `CPU, ${MEASURE_NAMES[drawn.measure]}` })),
    };
  }, [answer, measure, price]);
  return <SeriesChart label="CPU over time" series={series} onRange={onRange} height={180} />;
}
