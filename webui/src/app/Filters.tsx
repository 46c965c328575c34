/** The active filters: a chip for each, and a button to add one. */
import { formatMatchers, parseMatchers, type Operator } from '../selection/matchers.ts';
import { SELECTION, type FrameFilter } from '../selection/selection.ts';
import { Popover } from '../ui/Popover.tsx';
import { FilterPicker } from './FilterPicker.tsx';
import type { GoShown, Shown } from './Page.tsx';

const FRAME_WORDS: readonly (readonly [FrameFilter, string])[] = [
  ['focus', 'stacks containing'],
  ['ignore', 'without stacks containing'],
  ['hide', 'hiding frames'],
  ['show', 'only frames'],
  ['show_from', 'stacks from'],
];

interface Props {
  place: Shown;
  go: GoShown;
}

export function Filters({ place, go }: Props) {
  const matchers = parseMatchers(place.select);
  const fleet = SELECTION.campaign.initial;
  return (
    <div className="chips" role="group" aria-label="filters">
      {matchers === null ? (
        <Chip what="filter" value={place.select} remove={() => go({ select: '' })} />
      ) : (
        matchers.map((m) => (
          <Chip
            key={`${m.label}${m.operator}${m.value}`}
            what={`${m.label} ${sign(m.operator)}`}
            value={m.value === '' ? '(none)' : m.value}
            remove={() => go({ select: formatMatchers(matchers.filter((other) => other !== m)) })}
          />
        ))
      )}
      {FRAME_WORDS.map(
        ([name, what]) =>
          place[name] !== '' && (
            <Chip key={name} what={what} value={place[name]} remove={() => go({ [name]: '' })} />
          ),
      )}
      {place.campaign !== fleet && (
        <Chip what="campaign" value={place.campaign} remove={() => go({ campaign: fleet })} />
      )}
      <Popover
        label="add a filter"
        buttonClass="chip add"
        button="+ Filter"
        title="by application, machine, function … ( f )"
      >
        {(close) => <FilterPicker place={place} go={go} close={close} />}
      </Popover>
    </div>
  );
}

function sign(operator: Operator): string {
  return { '=': '=', '!=': '≠', '=~': '~', '!~': '≁' }[operator];
}

function Chip({ what, value, remove }: { what: string; value: string; remove: () => void }) {
  return (
    <span className="chip">
      <span className="what">{what}</span> <b>{value}</b>
      <button
        type="button"
        onClick={remove}
        aria-label={`remove the filter ${what} ${value}`}
        title="remove this filter"
      >
        ×
      </button>
    </span>
  );
}
