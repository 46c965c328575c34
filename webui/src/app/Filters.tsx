/** The active filters: a chip for each, and a button to add one. */
import { alternativesOf, exactName, withoutAlternative } from '../selection/alternatives.ts';
import { formatMatchers, parseMatchers, type Operator } from '../selection/matchers.ts';
import { SELECTION, type FrameFilter } from '../selection/selection.ts';
import { Popover } from '../ui/Popover.tsx';
import { FilterPicker } from './FilterPicker.tsx';
import type { GoShown, Shown } from './Page.tsx';

const FRAME_WORDS: readonly (readonly [FrameFilter, string])[] = [
  ['focus', 'Keep stacks containing'],
  ['ignore', 'Drop stacks containing'],
  ['hide', 'Hide frames'],
  ['show', 'Keep only frames'],
  ['show_from', 'Start stacks at'],
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
      {FRAME_WORDS.flatMap(([name, what]) =>
        place[name] === ''
          ? []
          : alternativesOf(place[name]).map((alternative, k) => (
              <Chip
                key={`${name} ${alternative}`}
                what={k === 0 ? what : 'or'}
                value={exactName(alternative) ?? alternative}
                title={alternative}
                remove={() => go({ [name]: withoutAlternative(place[name], k) })}
              />
            )),
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

interface ChipProps {
  what: string;
  value: string;
  title?: string;
  remove: () => void;
}

function Chip({ what, value, title = value, remove }: ChipProps) {
  return (
    <span className="chip" title={`${what} ${title}`}>
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
