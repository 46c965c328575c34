/** The time range: relative presets, two absolute times, and the periods before and after. */
import { useState } from 'react';
import { earlier, later } from '../selection/periods.ts';
import {
  absolute,
  fromLocalMinute,
  isLive,
  localMinute,
  presetOf,
  PRESETS,
  secondsBack,
  length,
} from '../selection/time.ts';
import { Popover } from '../ui/Popover.tsx';
import { useAsOf } from './asOf.tsx';
import type { GoShown, Shown } from './Page.tsx';

/** A change of range resets the base's times, whose range would have another length. */
export const NO_BASE_TIMES = { base_from: '', base_to: '' };

interface Props {
  place: Shown;
  go: GoShown;
}

export function TimeRange({ place, go }: Props) {
  const { asOf } = useAsOf();
  const before = earlier(place, 'previous period');
  const after = later(place, asOf);
  const move = (range: { from: string; to: string } | null): void => {
    if (range !== null) go({ ...range, ...NO_BASE_TIMES });
  };
  return (
    <span className="time-range segments" role="group" aria-label="time range">
      <button
        type="button"
        className="step"
        onClick={() => move(before)}
        disabled={before === null}
        aria-label="the period before"
        title="the period before ( [ )"
      >
        ‹
      </button>
      <Popover label="time range" buttonClass="range" button={rangeText(place)} title="time range">
        {(close) => <Choice place={place} go={go} close={close} />}
      </Popover>
      <button
        type="button"
        className="step"
        onClick={() => move(after)}
        disabled={after === null}
        aria-label="the period after"
        title="the period after ( ] )"
      >
        ›
      </button>
    </span>
  );
}

/** `last 24 h`, `2026-11-21 04:05 – 05:05`. */
export function rangeText(place: { from: string; to: string }): string {
  const back = secondsBack(place.from);
  if (isLive(place) && back !== null) return `last ${length(back)}`;
  const [from, to] = [localMinute(place.from), localMinute(place.to)];
  return from.slice(0, 10) === to.slice(0, 10) ? `${from} – ${to.slice(11)}` : `${from} – ${to}`;
}

function Choice({ place, go, close }: Props & { close: () => void }) {
  const { asOf } = useAsOf();
  const now = absolute(place, asOf);
  const [from, setFrom] = useState(localMinute(now.from, 'T'));
  const [to, setTo] = useState(localMinute(now.to, 'T'));
  const range = { from: fromLocalMinute(from), to: fromLocalMinute(to) };
  const backwards = range.from !== null && range.to !== null && range.from >= range.to;
  const preset = presetOf(place);
  return (
    <div className="stack">
      <div className="segments presets" role="group" aria-label="up to now">
        {PRESETS.map((p) => (
          <button
            key={p}
            type="button"
            aria-pressed={p === preset}
            title={`the last ${p}, refreshed every minute`}
            onClick={() => {
              go({ from: `now-${p}`, to: 'now', ...NO_BASE_TIMES });
              close();
            }}
          >
            {p}
          </button>
        ))}
      </div>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (range.from === null || range.to === null || backwards) return;
          go({ from: range.from, to: range.to, ...NO_BASE_TIMES });
          close();
        }}
      >
        <label className="field">
          From
          <input type="datetime-local" value={from} onChange={(e) => setFrom(e.target.value)} />
        </label>
        <label className="field">
          To
          <input type="datetime-local" value={to} onChange={(e) => setTo(e.target.value)} />
        </label>
        <p className="note">
          {backwards ? 'The range ends before it begins.' : 'Times are in the time zone of this browser.'}
        </p>
        <button
          type="submit"
          className="primary"
          disabled={range.from === null || range.to === null || backwards}
        >
          Show this range
        </button>
      </form>
    </div>
  );
}
