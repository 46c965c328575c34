/** What narrows the selection down: a chip for each, and a way to add one. */
import { useState } from 'react';
import type { Go } from '../location/usePlace.ts';
import { formatMatchers, parseMatchers, withMatcher, type Matcher, type Operator } from '../selection/matchers.ts';
import { percent } from '../selection/numbers.ts';
import type { Place } from '../selection/place.ts';
import { useLabels } from '../api/queries.ts';
import { Popover } from './Popover.tsx';

interface Props {
  place: Place;
  go: Go;
}

export function Filters({ place, go }: Props) {
  const matchers = parseMatchers(place.select);
  return (
    <div className="chips" role="group" aria-label="filters">
      {matchers === null ? (
        <Chip what="select" value={place.select} remove={() => go({ select: '' })} />
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
      {place.focus !== '' && <Chip what="only stacks with" value={place.focus} remove={() => go({ focus: '' })} />}
      {place.ignore !== '' && <Chip what="no stacks with" value={place.ignore} remove={() => go({ ignore: '' })} />}
      {place.campaign !== 'fleet' && <Chip what="campaign" value={place.campaign} remove={() => go({ campaign: 'fleet' })} />}
      <Popover label="add a filter" buttonClass="chip add" button="+ Filter" title="by application, machine, function … ( f )">
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
      <button type="button" onClick={remove} aria-label={`remove the filter ${what} ${value}`} title="remove this filter">
        ×
      </button>
    </span>
  );
}

function FilterPicker({ place, go, close }: Props & { close: () => void }) {
  const labels = useLabels(place, true);
  const [name, setName] = useState('application');
  const [within, setWithin] = useState('');
  const known = labels.data?.labels.filter((l) => l.values.length > 0) ?? [];
  const label = known.find((l) => l.name === name) ?? known[0];
  const shown = label?.values.filter((v) => v.value.toLowerCase().includes(within.toLowerCase())) ?? [];
  const add = (matcher: Matcher): void => {
    go({ select: formatMatchers(withMatcher(parseMatchers(place.select) ?? [], matcher)) });
    close();
  };
  return (
    <div className="picker">
      <div className="names" role="group" aria-label="label">
        {known.map((l) => (
          <button key={l.name} type="button" aria-pressed={l === label} onClick={() => { setName(l.name); setWithin(''); }}>
            {l.name}
          </button>
        ))}
        {labels.isPending && <p className="note">Reading the labels …</p>}
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
                  <button type="button" className="value" onClick={() => add({ label: label.name, operator: '=', value: v.value })}>
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
            {label.more > 0 && <p className="note">and {label.more} more with smaller shares</p>}
          </>
        )}
      </div>
      <FunctionFilter place={place} go={go} close={close} />
      <TextFilter place={place} go={go} close={close} />
    </div>
  );
}

/** Keep or drop whole stacks by the functions in them. */
function FunctionFilter({ place, go, close }: Props & { close: () => void }) {
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
        placeholder="Functions, as a regular expression"
        aria-label="functions, as a regular expression"
        onChange={(e) => setPattern(e.target.value)}
      />
      <button type="submit" disabled={pattern === ''} title="keep stacks with such a frame">
        Only with
      </button>
      <button type="button" disabled={pattern === ''} title="drop stacks with such a frame" onClick={() => apply({ ignore: pattern })}>
        Without
      </button>
    </form>
  );
}

/** The matchers as the API takes them, for what the lists cannot say. */
function TextFilter({ place, go, close }: Props & { close: () => void }) {
  const [text, setText] = useState(place.select);
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
        aria-label="matchers as text"
        spellCheck={false}
        onChange={(e) => setText(e.target.value)}
      />
      <button type="submit">Apply</button>
    </form>
  );
}
