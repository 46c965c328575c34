import type { SelectionEcho, StatusAnswer } from '../api/types.ts';
import type { Go } from '../location/usePlace.ts';
import type { Place } from '../selection/place.ts';
import { Brand } from './Brand.tsx';
import { Filters } from './Filters.tsx';
import { PageLinks } from './PageHeader.tsx';
import { SignOut } from './SignOut.tsx';
import { TimeRange } from './TimeRange.tsx';

interface Props {
  place: Place;
  go: Go;
  answered: SelectionEcho | undefined;
  /** The base of the comparison, if there is one. */
  base: SelectionEcho | undefined;
  status: StatusAnswer | undefined;
  dark: boolean;
  toggleTheme: () => void;
  copyLink: () => void;
  help: () => void;
}

/** The selection, which all views share, and the page's own controls. */
export function Header({ place, go, answered, base, status, dark, toggleTheme, copyLink, help }: Props) {
  return (
    <header>
      <Brand />
      <EventChoice place={place} go={go} status={status} />
      <TimeRange place={place} go={go} answered={answered} base={base} />
      <Filters place={place} go={go} />
      <span className="spacer" />
      <PageLinks current="profiles" />
      <span className="page-actions">
        <button
          type="button"
          onClick={copyLink}
          disabled={answered === undefined}
          title="copy a link with fixed times ( y )"
        >
          Copy link
        </button>
        <button
          type="button"
          className="icon"
          onClick={toggleTheme}
          aria-label={dark ? 'use light colours' : 'use dark colours'}
          title="dark or light ( t )"
        >
          {dark ? '☀' : '☾'}
        </button>
        <button
          type="button"
          className="icon"
          onClick={help}
          aria-label="keys and words"
          title="keys and words ( ? )"
        >
          ?
        </button>
        <SignOut />
      </span>
    </header>
  );
}

function EventChoice({ place, go, status }: { place: Place; go: Go; status: StatusAnswer | undefined }) {
  const events = status?.events.map((e) => e.event) ?? [];
  const options = events.includes(place.event) ? events : [place.event, ...events];
  return (
    <label className="field inline">
      <span className="sr-only">event</span>
      <select
        value={place.event}
        onChange={(e) => go({ event: e.target.value, node: '' })}
        title="sampled event"
      >
        {options.map((event) => (
          <option key={event}>{event}</option>
        ))}
      </select>
    </label>
  );
}
