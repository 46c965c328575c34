/** Whether this profile is reliable as a whole, and what more profiles would improve. */
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage } from '../../app/Page.tsx';
import { RELIABILITY } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { usePlace } from '../../app/usePlace.ts';
import { count } from '../../selection/numbers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { GroupKeys } from '../../table/GroupKeys.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { FlameSkeleton } from '../../ui/states/Skeleton.tsx';
import { ReliabilityFigures } from './ReliabilityFigures.tsx';

export function ReliabilityPage() {
  const [place, go] = usePlace(RELIABILITY);
  const { asOf } = useAsOf();
  const query = { ...selectionOf(place, asOf), by: place.by };
  const answer = useAnswer('/api/v1/reliability', query);
  return (
    <SelectionPage
      title="Reliability"
      className="report"
      place={place}
      go={go}
      share={{ route: '/api/v1/reliability', query, formats: ROW_FORMATS }}
      busy={answer.isFetching}
    >
      <h1>How reliable is this profile?</h1>
      <section className="panel reliability" aria-label="reliability">
        <div className="bar-top">
          <GroupKeys title="Profile by" place={place} go={({ by }) => go({ by })} />
          {answer.data && <span className="note">{count(answer.data.rows_total)} rows</span>}
        </div>
        <Answered query={answer} what="the reliability" skeleton={<FlameSkeleton />} shown={{ place, go }}>
          {(data) => (
            <ReliabilityFigures
              answer={data}
              wanted={place.precision / 100}
              onWanted={(wanted) => go({ precision: Math.round(100 * wanted) })}
            />
          )}
        </Answered>
      </section>
    </SelectionPage>
  );
}
