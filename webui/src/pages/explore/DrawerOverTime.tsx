/** A function's total over the range, in its panel. */
import { useCallback, useMemo } from 'react';
import type { ExplorePlace } from '../../app/pages.ts';
import type { ExploreGo } from '../../app/usePlace.ts';
import { groundOf } from '../../estimates/measure.ts';
import { seriesOf, type SeriesAnswer } from '../../views/series/series.ts';
import { SeriesChart } from '../../views/series/SeriesChart.tsx';

const HEIGHT = 110;

interface Props {
  answer: SeriesAnswer;
  name: string;
  place: ExplorePlace;
  go: ExploreGo;
  /** Price of one core-hour. */
  price: number | null;
}

export function DrawerOverTime({ answer, name, place, go, price }: Props) {
  const series = useMemo(() => {
    const drawn = seriesOf(answer, place.measure, groundOf(answer.totals, answer.selection.select, price));
    const whole = drawn.lines.filter(({ role }) => role === 'whole');
    return { ...drawn, lines: whole.map((line) => ({ ...line, name: 'total' })) };
  }, [answer, place.measure, price]);
  const onRange = useCallback((from: string, to: string) => go({ from, to }), [go]);
  return <SeriesChart label={`${name} over time`} series={series} onRange={onRange} height={HEIGHT} />;
}
