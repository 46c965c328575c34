/** Adds a filter: a label's value, a function, or matchers as text. */
import { useEffect, useState } from 'react';
import { useLabels } from '../api/queries.ts';
import type { LabelAnswer } from '../api/types.ts';
import type { Go } from '../location/usePlace.ts';
import {
  formatMatchers,
  mistakeIn,
  parseMatchers,
  withMatcher,
  type Matcher,
} from '../selection/matchers.ts';
import { count, percent } from '../selection/numbers.ts';
import type { Place } from '../selection/place.ts';

/** A request is sent after this pause in typing. */
const PAUSE_MS = 180;

/** Uses of a regular expression on frames besides `focus`. */
const OTHER_USES = [
  ['ignore', 'Without', 'drop stacks with such a frame'],
  ['hide', 'Hide', 'remove such frames from their stacks'],
  ['show', 'Show', 'remove all other frames from their stacks'],
  ['show_from', 'From', 'begin stacks at the outermost such frame'],
] as const;

interface Props {
  place: Place;
  go: Go;
  close: () => void;
}

export function FilterPicker({ place, go, close }: Props) {
  const labels = useLabels(place, true);
  const [name, setName] = useState('application');
  const [within, setWithin] = useState('');
  const known = labels.data?.labels.filter((l) => l.values.length > 0) ?? [];
  const label = known.find((l) => l.name === name) ?? known[0];
  const found = useFound(place, label, within);
  const wanted = within.toLowerCase();
  const shown = (found ?? label)?.values.filter((v) => v.value.toLowerCase().includes(wanted)) ?? [];
  const add = (matcher: Matcher): void => {
    go({ select: formatMatchers(withMatcher(parseMatchers(place.select) ?? [], matcher)) });
    close();
  };
  return (
    <div className="picker">
      <div className="names" role="group" aria-label="label">
        {known.map((l) => (
          <button
            key={l.name}
            type="button"
            aria-pressed={l === label}
            title={l.name}
            onClick={() => {
              setName(l.name);
              setWithin('');
            }}
          >
            {l.name}
          </button>
        ))}
        {labels.isPending && <p className="note">Loading the labels …</p>}
        {labels.error && <p className="note">{labels.error.message}</p>}
        {labels.data && known.length === 0 && <p className="note">No labels in this selection.</p>}
      </div>
      <div className="values">
        {label && (
          <>
            <input
              type="search"
              value={within}
              placeholder={`Find ${label.name}`}
              aria-label={`find ${label.name}`}
              onChange={(e) => setWithin(e.target.value)}
            />
            <ul>
              {shown.map((v) => (
                <li key={v.value}>
                  <button
                    type="button"
                    className="value"
                    onClick={() => add({ label: label.name, operator: '=', value: v.value })}
                  >
                    <span className="text">{v.value === '' ? '(none)' : v.value}</span>
                    <span className="share">{percent(v.share, 1)}</span>
                  </button>
                  <button
                    type="button"
                    className="not"
                    aria-label={`leave out ${label.name} ${v.value}`}
                    title="leave out"
                    onClick={() => add({ label: label.name, operator: '!=', value: v.value })}
                  >
                    ≠
                  </button>
                </li>
              ))}
            </ul>
            {(found ?? label).more > 0 && (
              <p className="note">
                {count((found ?? label).more)} more with smaller shares; search for them by name
              </p>
            )}
          </>
        )}
      </div>
      <FunctionFilter place={place} go={go} close={close} />
      <TextFilter place={place} go={go} close={close} />
    </div>
  );
}

/** The values that the server finds for a label that has more than it sent; undefined if it sent all. */
function useFound(place: Place, label: LabelAnswer | undefined, within: string): LabelAnswer | undefined {
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setAsked(within), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [within]);
  const needed = label !== undefined && label.more > 0 && asked !== '';
  const answer = useLabels(place, needed, asked);
  return needed ? answer.data?.labels.find((l) => l.name === label.name) : undefined;
}

/** Keeps or drops whole stacks by their frames, or removes frames from all stacks. */
function FunctionFilter({ place, go, close }: Props) {
  const [pattern, setPattern] = useState(place.focus);
  const apply = (change: Partial<Place>): void => {
    go(change);
    close();
  };
  return (
    <form
      className="row wide"
      onSubmit={(event) => {
        event.preventDefault();
        apply({ focus: pattern });
      }}
    >
      <input
        type="text"
        value={pattern}
        placeholder="Frames like …"
        aria-label="frames, as a regular expression"
        onChange={(e) => setPattern(e.target.value)}
      />
      <button type="submit" disabled={pattern === ''} title="keep stacks with such a frame">
        Only with
      </button>
      {OTHER_USES.map(([name, text, title]) => (
        <button
          key={name}
          type="button"
          disabled={pattern === ''}
          title={title}
          onClick={() => apply({ [name]: pattern })}
        >
          {text}
        </button>
      ))}
    </form>
  );
}

/** The matchers as text, for selections that the lists cannot express. */
function TextFilter({ place, go, close }: Props) {
  const [text, setText] = useState(place.select);
  const mistake = mistakeIn(text);
  return (
    <form
      className="row wide"
      onSubmit={(event) => {
        event.preventDefault();
        go({ select: text.trim() });
        close();
      }}
    >
      <input
        type="text"
        className="code"
        value={text}
        placeholder={'{application="search",platform=~"Zen.*"}'}
        aria-label="filters as text"
        spellCheck={false}
        onChange={(e) => setText(e.target.value)}
      />
      <button type="submit">Apply</button>
      {mistake !== null && (
        <p className="note" role="status">
          {mistake.message}
        </p>
      )}
    </form>
  );
}
