/** Adds or replaces a filter: a label's value, a function, or matchers as text. */
import { useDeferredValue, useState, type KeyboardEvent } from 'react';
import { useAnswer } from '../api/useAnswer.ts';
import {
  formatMatchers,
  mistakeIn,
  parseMatchers,
  withMatcher,
  type Matcher,
} from '../selection/matchers.ts';
import { count, percent } from '../selection/numbers.ts';
import { selectionOf, type FrameFilter } from '../selection/selection.ts';
import { useAsOf } from './asOf.tsx';
import { choicesOf, type Choice } from './filterChoices.ts';
import type { GoShown, Shown } from './Page.tsx';

const FRAME_USES: readonly (readonly [FrameFilter, string, string])[] = [
  ['focus', 'Keep stacks containing', 'keep only stacks with such a frame'],
  ['ignore', 'Drop stacks containing', 'drop stacks with such a frame'],
  ['hide', 'Hide frames', 'remove such frames from their stacks'],
  ['show', 'Keep only frames', 'remove all other frames from their stacks'],
  ['show_from', 'Start stacks at', 'begin stacks at the outermost such frame'],
];

interface Props {
  place: Shown;
  go: GoShown;
  close: () => void;
}

export function FilterPicker({ place, go, close }: Props) {
  const { asOf } = useAsOf();
  const [label, setLabel] = useState('');
  const [typed, setTyped] = useState('');
  const find = useDeferredValue(typed);
  const all = useAnswer('/api/v1/labels', { ...selectionOf(place, asOf), ...(find === '' ? {} : { find }) });
  const matchers = parseMatchers(place.select) ?? [];
  // The values of a filtered label are those without its own filter: the reader can switch to another one.
  const filtered = label !== '' && matchers.some((m) => m.label === label);
  const others = useAnswer(
    '/api/v1/labels',
    { ...selectionOf(place, asOf), except: label, ...(find === '' ? {} : { find }) },
    { enabled: filtered },
  );
  const labels = all.data?.labels.filter((l) => l.values.length > 0 || l.name === label) ?? [];
  const shown = filtered
    ? (others.data?.labels ?? [])
    : label === ''
      ? labels
      : labels.filter((l) => l.name === label);
  const choices = choicesOf(shown, typed, label === '' ? 6 : 200);
  const [at, setAt] = useState(0);
  const current = Math.min(at, choices.length - 1);

  const add = ({ label: name, value }: Choice, operator: Matcher['operator']): void => {
    go({ select: formatMatchers(withMatcher(matchers, { label: name, operator, value })) });
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(choices.length - 1, current + 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, current - 1));
    else if (event.key === 'Enter' && choices[current]) add(choices[current], event.shiftKey ? '!=' : '=');
    else return;
    event.preventDefault();
  };

  return (
    <div className="picker">
      <div className="names" role="group" aria-label="label">
        <button type="button" aria-pressed={label === ''} onClick={() => setLabel('')}>
          any label
        </button>
        {labels.map((l) => (
          <button key={l.name} type="button" aria-pressed={l.name === label} onClick={() => setLabel(l.name)}>
            {l.name}
          </button>
        ))}
      </div>
      <div className="values">
        <input
          type="search"
          data-first
          value={typed}
          role="combobox"
          aria-expanded="true"
          aria-controls="filter-values"
          aria-activedescendant={choices[current] ? `filter-value-${current}` : undefined}
          placeholder={label === '' ? 'Application, machine, platform …' : `Find ${label}`}
          aria-label={label === '' ? 'find a value of any label' : `find ${label}`}
          onChange={(e) => {
            setTyped(e.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <ul id="filter-values" role="listbox" aria-label="values" aria-busy={all.isFetching}>
          {choices.map((c, k) => (
            <li
              key={`${c.label} ${c.value}`}
              id={`filter-value-${k}`}
              role="option"
              aria-selected={k === current}
              ref={(element) => {
                if (k === current) element?.scrollIntoView({ block: 'nearest' });
              }}
              onMouseMove={() => setAt(k)}
              onClick={(event) => add(c, event.shiftKey ? '!=' : '=')}
            >
              {label === '' && <span className="label">{c.label}</span>}
              <span className="text">{c.value === '' ? '(none)' : c.value}</span>
              <span className="share">{percent(c.share, 1)}</span>
            </li>
          ))}
        </ul>
        <p className="note">
          {all.isPending
            ? 'Loading the labels …'
            : all.error
              ? all.error.message
              : choices.length === 0
                ? 'No label has such a value.'
                : 'Enter adds the filter, Shift+Enter leaves the value out.'}
          {label !== '' &&
            shown[0] &&
            shown[0].more > 0 &&
            ` ${count(shown[0].more)} more; type to find them.`}
        </p>
      </div>
      <FrameFilterForm place={place} go={go} close={close} />
      <TextFilter place={place} go={go} close={close} />
    </div>
  );
}

/** Keeps or drops whole stacks by their frames, or removes frames from all stacks. */
function FrameFilterForm({ place, go, close }: Props) {
  const [pattern, setPattern] = useState(place.focus);
  const [use, setUse] = useState<FrameFilter>('focus');
  return (
    <form
      className="row wide"
      onSubmit={(event) => {
        event.preventDefault();
        go({ [use]: pattern });
        close();
      }}
    >
      <input
        type="text"
        value={pattern}
        placeholder="Function, file or binary (regex)"
        aria-label="function, file or binary, as a regular expression"
        onChange={(e) => setPattern(e.target.value)}
      />
      <select
        aria-label="use of the expression"
        value={use}
        onChange={(e) => setUse(e.target.value as FrameFilter)}
      >
        {FRAME_USES.map(([name, text, title]) => (
          <option key={name} value={name} title={title}>
            {text}
          </option>
        ))}
      </select>
      <button type="submit" disabled={pattern === ''}>
        Apply
      </button>
    </form>
  );
}

/** The filters as text, for selections that the lists cannot express. */
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
