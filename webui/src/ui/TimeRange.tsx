import { useState } from 'react';
import { fixed } from '../compare/base.ts';
import type { Go } from '../location/usePlace.ts';
import type { SelectionEcho } from '../api/types.ts';
import type { Place } from '../selection/place.ts';
import { fromLocalMinute, isLive, localMinute, presetOf, PRESETS } from '../selection/time.ts';
import { Popover } from './Popover.tsx';
import { Segments } from './Segments.tsx';

interface Props {
  place: Place;
  go: Go;
  /** The absolute range of the latest response. */
  answered: SelectionEcho | undefined;
  base: SelectionEcho | undefined;
}

/** A change of range resets the base's times, whose range would have another length. */
const NO_BASE_TIMES = { base_from: '', base_to: '' };

/** Relative presets, or two absolute times. */
export function TimeRange({ place, go, answered, base }: Props) {
  const preset = presetOf(place);
  const options = PRESETS.map((p) => ({
    value: p,
    text: p,
    title: `the last ${p}, updated continuously`,
  }));
  return (
    <>
      <Segments
        label="time range"
        value={preset}
        options={options}
        onChange={(p) => go({ from: `now-${p}`, to: 'now', ...NO_BASE_TIMES })}
      />
      <Popover
        label="absolute time range"
        buttonClass={preset === null ? 'chosen' : ''}
        button={preset === null ? rangeText(place) : 'Range…'}
        title="a range between two fixed times"
      >
        {(close) => <AbsoluteRange place={place} answered={answered} go={go} close={close} />}
      </Popover>
      <LiveSwitch place={place} go={go} answered={answered} base={base} />
    </>
  );
}

function rangeText(place: Place): string {
  return isLive(place) ? `${place.from} … now` : `${localMinute(place.from)} – ${localMinute(place.to)}`;
}

function AbsoluteRange({ place, answered, go, close }: Omit<Props, 'base'> & { close: () => void }) {
  const [from, setFrom] = useState(localMinute(isLive(place) ? (answered?.from ?? '') : place.from, 'T'));
  const [to, setTo] = useState(localMinute(isLive(place) ? (answered?.to ?? '') : place.to, 'T'));
  const range = { from: fromLocalMinute(from), to: fromLocalMinute(to) };
  const backwards = range.from !== null && range.to !== null && range.from >= range.to;
  return (
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
  );
}

/** A live page refreshes itself; freezing it fixes the times of the current content. */
function LiveSwitch({ place, go, answered, base }: Props) {
  if (!isLive(place)) {
    return (
      <button
        type="button"
        onClick={() => go({ from: 'now-1h', to: 'now', ...NO_BASE_TIMES })}
        title="show the last hour and keep refreshing"
      >
        Go live
      </button>
    );
  }
  return (
    <button
      type="button"
      className="live"
      disabled={answered === undefined}
      title="refreshes automatically; click to freeze the times"
      onClick={() => answered && go(fixed(answered, base))}
    >
      <span className="pulse" aria-hidden="true" />
      Live
    </button>
  );
}
