/** A selection over time, by the values of a label. */
import { useMemo } from 'react';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import type { GoShown, Shown } from '../../app/Page.tsx';
import { groundOf, MEASURE_NAMES } from '../../estimates/measure.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { FlameSkeleton } from '../../ui/states/Skeleton.tsx';
import type { Mark } from '../../views/series/marks.ts';
import { seriesOf, type SeriesAnswer } from '../../views/series/series.ts';
import { SeriesChart } from '../../views/series/SeriesChart.tsx';

interface Props {
  label: string;
  title: string;
  place: Shown;
  go: GoShown;
  price: number | null;
  marks?: readonly Mark[];
  onMark?: (mark: Mark) => void;
  /** Largest number of values. */
  values?: number;
}

export function OverTimeBy({ label, title, place, go, price, marks, onMark, values = 4 }: Props) {
  const { asOf } = useAsOf();
  const query = {
    ...selectionOf(place, asOf),
    by: label,
    share: 'total' as const,
    limit: values,
    points: 60,
  };
  const answer = useAnswer('/api/v1/series', query);
  return (
    <section className="panel wide" aria-label={title}>
      <h2>
        {title} <span className="note">drag to zoom in</span>
      </h2>
      <Answered query={answer} what="the time series" skeleton={<FlameSkeleton />} shown={{ place, go }}>
        {(data) => (
          <Chart
            answer={data}
            title={title}
            place={place}
            price={price}
            onRange={(from, to) => go({ from, to })}
            {...(marks && { marks })}
            {...(onMark && { onMark })}
          />
        )}
      </Answered>
    </section>
  );
}

interface ChartProps extends Pick<Props, 'title' | 'place' | 'price' | 'marks' | 'onMark'> {
  answer: SeriesAnswer;
  onRange: (from: string, to: string) => void;
}

function Chart({ answer, title, place, price, ...events }: ChartProps) {
  const series = useMemo(() => {
    const ground = groundOf(answer.totals, answer.selection.select, price);
    // Over time, a share of the whole says nothing about its size: cores are the default.
    const drawn = seriesOf(answer, place.measure === 'share' ? 'cores' : place.measure, ground);
    const lines = drawn.lines.map((line) =>
      line.role === 'whole' ? { ...line, name: `all, ${MEASURE_NAMES[drawn.measure]}` } : line,
    );
    return { ...drawn, lines: lines.filter((line) => line.role !== 'remainder') };
  }, [answer, place.measure, price]);
  return <SeriesChart label={title} series={series} height={200} {...events} />;
}
