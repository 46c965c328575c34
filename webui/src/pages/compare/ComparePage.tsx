/** Two selections side by side. */
import { useAnswer, useStatus } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage } from '../../app/Page.tsx';
import { COMPARE } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { usePlace } from '../../app/usePlace.ts';
import { diffQuery } from '../../selection/base.ts';
import { ComparePanel } from './ComparePanel.tsx';

/** Requested rows of a comparison: those with the largest changes. */
const DIFF_ROWS = 500;

export function ComparePage() {
  const [place, go] = usePlace(COMPARE);
  const { asOf } = useAsOf();
  const status = useStatus();
  const query = { ...diffQuery(place, asOf), by: place.by, limit: DIFF_ROWS, share: place.column };
  const diff = useAnswer('/api/v1/diff', query);
  return (
    <SelectionPage
      title="Compare"
      className="compare"
      place={place}
      go={go}
      share={{ route: '/api/v1/diff', query, formats: [...ROW_FORMATS, 'pprof', 'collapsed'] }}
      busy={diff.isFetching}
    >
      <ComparePanel place={place} go={go} diff={diff} status={status.data} />
    </SelectionPage>
  );
}
