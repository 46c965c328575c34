/** The fleet at a glance: cores over time, what needs attention, services and hottest functions. */
import { navigate } from 'wouter/use-browser-location';
import { useMemo } from 'react';
import { useAnswer, useStatus } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage, type Shown } from '../../app/Page.tsx';
import { EXPLORE, FUNCTION, HOME, linkTo, SERVICE } from '../../app/pages.ts';
import { usePrice } from '../../app/usePrice.ts';
import { STACK_FORMATS } from '../../app/ShareMenu.tsx';
import { usePlace } from '../../app/usePlace.ts';
import { seriesOf } from '../../views/series/series.ts';
import { groundOf } from '../../estimates/measure.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { Empty } from '../../ui/states/Empty.tsx';
import { FlameSkeleton } from '../../ui/states/Skeleton.tsx';
import { SeriesChart } from '../../views/series/SeriesChart.tsx';
import { Sparkline } from '../../views/series/Sparkline.tsx';
import { AboutNumbers } from '../explore/AboutNumbers.tsx';
import { HotRows } from '../service/HotRows.tsx';
import { Attention } from './Attention.tsx';
import './home.css';
import { marksOf, addressOfMark } from './marks.ts';

/** Applications with a line in the table of services. */
const SERVICES = 12;

export function HomePage() {
  const [place, go] = usePlace(HOME);
  const { asOf } = useAsOf();
  const status = useStatus();
  const price = usePrice(place);
  const query = selectionOf(place, asOf);
  const series = useAnswer('/api/v1/series', {
    ...query,
    by: 'application',
    share: 'total',
    limit: SERVICES,
    points: 30, // of a day: whole hours, which the server has summed
  });
  const changes = useAnswer('/api/v1/changes', { ...query, labels: 'version,kernel', limit: 40 });
  const shown = { place, go };
  const totals = series.data?.totals;
  const drawn = useMemo(() => {
    if (series.data === undefined) return null;
    const ground = groundOf(series.data.totals, series.data.selection.select, price);
    return seriesOf(series.data, place.measure === 'share' ? 'cores' : place.measure, ground);
  }, [series.data, place.measure, price]);
  const marks = useMemo(() => marksOf(changes.data?.changes ?? []), [changes.data]);
  const isEmpty = totals !== undefined && totals.samples === 0 && !series.isPlaceholderData;
  return (
    <SelectionPage
      title="Fleet"
      className="cards home"
      place={place}
      go={go}
      share={{
        route: '/api/v1/table',
        query: { ...query, by: 'application', limit: 1000 },
        formats: STACK_FORMATS,
      }}
      busy={series.isFetching}
    >
      <div className="tools">
        <h1>Fleet</h1>
        <AboutNumbers totals={totals} unit={series.data?.selection.unit} campaign={place.campaign} />
      </div>
      {isEmpty ? (
        <section className="panel" aria-label="no results">
          <Empty
            totals={totals}
            unit={series.data!.selection.unit}
            place={place}
            go={(change: Partial<Shown>) => go(change)}
            status={status.data}
          />
        </section>
      ) : (
        <div className="card-grid">
          <section className="panel busy" aria-label="cores busy">
            <h2>
              Cores busy <span className="note">drag to zoom in; a mark compares before and after</span>
            </h2>
            <Answered query={series} what="the fleet over time" skeleton={<FlameSkeleton />} {...{ shown }}>
              {() => (
                <SeriesChart
                  label="cores busy over time"
                  series={{
                    ...drawn!,
                    lines: drawn!.lines
                      .filter(({ role }) => role === 'whole')
                      .map((line) => ({ ...line, name: 'all' })),
                  }}
                  marks={marks}
                  onMark={(mark) => navigate(addressOfMark(place, mark))}
                  onRange={(from, to) => go({ from, to })}
                  height={190}
                />
              )}
            </Answered>
          </section>
          <Attention place={place} status={status.data} />
          <HotRows
            title="Services"
            by="application"
            column="total"
            {...shown}
            price={price}
            rows={SERVICES}
            linkOf={(row) => linkTo(SERVICE, place, {}, row.key['application'] ?? '')}
            all={linkTo(EXPLORE, place, { by: 'application', view: 'table' })}
            more={[
              {
                name: 'over time',
                cell: (row) => {
                  const line = drawn?.lines.find((l) => l.key['application'] === row.key['application']);
                  return (
                    line && <Sparkline label="" values={line.points.map((point) => point?.value ?? null)} />
                  );
                },
              },
            ]}
          />
          <HotRows
            title="Hottest functions"
            by="function"
            column="self"
            {...shown}
            price={price}
            linkOf={({ function_id }) =>
              function_id === null ? null : linkTo(FUNCTION, place, {}, function_id)
            }
            all={linkTo(EXPLORE, place, { view: 'table' })}
          />
        </div>
      )}
    </SelectionPage>
  );
}
