/** The second row: event, time range, filters, unit, and what can be done with the page. */
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useStatus } from '../api/useAnswer.ts';
import { MEASURES } from '../estimates/measure.ts';
import { percent } from '../selection/numbers.ts';
import { earlier, later } from '../selection/periods.ts';
import { Popover } from '../ui/Popover.tsx';
import { NARROW, useMedia } from '../ui/useMedia.ts';
import { isLive } from '../selection/time.ts';
import { useAsOf } from './asOf.tsx';
import { Filters } from './Filters.tsx';
import { MeasureChoice } from './MeasureChoice.tsx';
import type { GoShown, Shown } from './Page.tsx';
import { ShareMenu, useCopyLink, type Shared } from './ShareMenu.tsx';
import { selectionText } from './selectionText.ts';
import { NO_BASE_TIMES, TimeRange } from './TimeRange.tsx';
import { useKeys, type Keys } from './useKeys.ts';
import { linkTo, SETTINGS } from './pages.ts';
import { useCost } from './usePrice.ts';

interface Props {
  place: Shown;
  go: GoShown;
  share: Shared | null;
}

export function SelectionBar({ place, go, share }: Props) {
  const status = useStatus();
  const { asOf, refresh } = useAsOf();
  const copyLink = useCopyLink(place);
  const priced = status.data?.priced ?? false;
  const narrow = useMedia(NARROW);
  useKeys(
    'Selection',
    useMemo<Keys>(() => {
      const move = (range: { from: string; to: string } | null): void => {
        if (range !== null) go({ from: range.from, to: range.to, ...NO_BASE_TIMES });
      };
      const measures = MEASURES.filter((m) => m !== 'money' || priced);
      return {
        f: ['add a filter', () => document.querySelector<HTMLElement>('.chip.add')?.click()],
        '[': ['the period before', () => move(earlier(place, 'previous period'))],
        ']': ['the period after', () => move(later(place, asOf))],
        r: ['refresh', refresh],
        u: [
          'the next unit: share, cores, …',
          () => go({ measure: measures[(measures.indexOf(place.measure) + 1) % measures.length] }, 'replace'),
        ],
        y: ['copy a link to this page with fixed times', () => void copyLink()],
      };
    }, [place, go, asOf, refresh, copyLink, priced]),
  );
  const choices = (
    <>
      <EventChoice place={place} go={go} events={status.data?.events.map((e) => e.event) ?? []} />
      <TimeRange place={place} go={go} />
      {isLive(place) && (
        <button
          type="button"
          className="as-of"
          onClick={refresh}
          title="The page shows profiles up to this time, and moves on once a minute. Click to refresh now ( r )."
        >
          ⟳ {new Date(asOf).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}
        </button>
      )}
      <Filters place={place} go={go} />
      {!narrow && <span className="spacer" />}
      <MeasureChoice measure={place.measure} priced={priced} go={go} />
      <Unpriced place={place} />
    </>
  );
  return (
    <div className="selection-bar" role="region" aria-label="selection">
      {narrow ? (
        <>
          <Popover
            sheet
            label="selection"
            buttonClass="selection-text"
            title="time range, filters, unit"
            button={
              <>
                <span className="text">{selectionText(place)}</span> ▾
              </>
            }
          >
            {() => <div className="selection-sheet">{choices}</div>}
          </Popover>
          <span className="spacer" />
        </>
      ) : (
        choices
      )}
      <ShareMenu place={place} share={share} copyLink={copyLink} />
    </div>
  );
}

/** The part of the CPU time that money lacks. */
function Unpriced({ place }: { place: Shown }) {
  const cost = useCost(place);
  if (cost === undefined || cost.unpriced_share === 0) return null;
  const missing = cost.rows.filter((row) => row.price_per_core_hour === null).map((row) => row.platform);
  return (
    <Link
      className="note"
      href={linkTo(SETTINGS, {})}
      title={`Platforms without a price count as 0: ${missing.join(', ')}. Set prices in Settings.`}
    >
      {percent(cost.unpriced_share, 0)} without a price
    </Link>
  );
}

interface EventProps {
  place: Shown;
  go: GoShown;
  events: readonly string[];
}

function EventChoice({ place, go, events }: EventProps) {
  const options = events.includes(place.event) ? events : [place.event, ...events];
  if (options.length === 1) return null;
  return (
    <select
      aria-label="event"
      value={place.event}
      onChange={(e) => go({ event: e.target.value })}
      title="sampled event"
    >
      {options.map((event) => (
        <option key={event}>{event}</option>
      ))}
    </select>
  );
}
