/** One search for both views: it filters the table and highlights frames in the flame graph. */
import { useEffect, useRef, useState } from 'react';
import type { FlameTree } from '../../flame/tree.ts';
import type { Union } from '../../flame/union.ts';
import { STEP_MATCH } from '../../flame-panel/FlameView.tsx';
import type { ExploreGo as Go } from '../../app/usePlace.ts';
import { count, percent } from '../../selection/numbers.ts';
import type { ExplorePlace as Place } from '../../app/pages.ts';

interface Props {
  place: Place;
  go: Go;
  invalid: boolean;
  union: Union | null;
  tree: FlameTree | undefined;
  /** Share of the selection that the tree contains. */
  kept: number;
  /** The reader is about to search. */
  onIntent: () => void;
  /** The server omitted light frames: some of them may match, too. */
  pruned: boolean;
}

/** A request is sent after this pause in typing. */
const PAUSE_MS = 180;

export function FindField({ place, go, invalid, union, tree, kept, pruned, onIntent }: Props) {
  const [text, setText] = useState(place.find);
  const typed = useRef(place.find);
  // Back, or "clear the search" elsewhere, changes the place without this field.
  useEffect(() => {
    if (place.find !== typed.current) {
      typed.current = place.find;
      setText(place.find);
    }
  }, [place.find]);
  useEffect(() => {
    if (text === typed.current) return;
    const timer = setTimeout(() => {
      typed.current = text;
      go({ find: text, mark: '' }, 'replace');
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, go]);

  const step = (direction: 1 | -1): void => {
    dispatchEvent(new CustomEvent(STEP_MATCH, { detail: direction }));
  };
  return (
    <div className="find" role="search">
      <span className={invalid ? 'box invalid' : 'box'}>
        <input
          id="find"
          type="search"
          value={text}
          placeholder="Find a function"
          aria-label="find a function"
          aria-invalid={invalid}
          spellCheck={false}
          onFocus={onIntent}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === 'Enter') step(e.shiftKey ? -1 : 1);
            if (e.key === 'Escape') {
              if (text === '') e.currentTarget.blur();
              setText('');
              e.stopPropagation();
            }
          }}
        />
        <kbd aria-hidden="true">/</kbd>
        <button
          type="button"
          aria-pressed={place.regex}
          aria-label="regular expression"
          title="use a regular expression; it is case-sensitive if it contains capitals"
          onClick={() => go({ regex: !place.regex }, 'replace')}
        >
          .*
        </button>
      </span>
      {invalid && <span className="note warn">This is not a valid regular expression.</span>}
      {union && tree && (
        <span className="found" aria-live="polite">
          <b>
            {pruned && '≥ '}
            {percent((kept * union.total) / (tree.total[0] || 1))}
          </b>{' '}
          in {count(union.frames)} {union.frames === 1 ? 'frame' : 'frames'}
          {place.mark === '' &&
            ` of ${count(union.functions)} ${union.functions === 1 ? 'function' : 'functions'}`}
        </span>
      )}
      {union && union.nodes.length > 0 && (
        <span className="segments">
          <button
            type="button"
            onClick={() => step(-1)}
            aria-label="previous match"
            title="previous match ( N )"
          >
            ↑
          </button>
          <button type="button" onClick={() => step(1)} aria-label="next match" title="next match ( n )">
            ↓
          </button>
        </span>
      )}
      {place.mark !== '' && (
        <button type="button" onClick={() => go({ mark: '' })}>
          Clear highlight
        </button>
      )}
    </div>
  );
}
