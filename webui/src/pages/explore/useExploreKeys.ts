/** The keys of the explorer. */
import { useEffect, useMemo } from 'react';
import type { ExplorePlace } from '../../app/pages.ts';
import { useKeys, type Keys } from '../../app/useKeys.ts';
import type { ExploreGo as Go } from '../../app/usePlace.ts';
import { STEP_MATCH } from '../../flame-panel/FlameView.tsx';
import { VIEWS } from './views.ts';

export function useExploreKeys(place: ExplorePlace, go: Go): void {
  useEscape(place, go);
  useKeys(
    'This page',
    useMemo<Keys>(
      () => ({
        '/': [
          'find a function, in the table and in the flame graph',
          () => document.getElementById('find')?.focus(),
        ],
        Enter: ['in the table: callers, callees and more of the row’s function', null],
        '.': ['in the table: actions for the row', null],
        Escape: ['close the function’s panel, then clear highlight and search', null],
        n: ['next match', () => dispatchEvent(new CustomEvent(STEP_MATCH, { detail: 1 }))],
        N: ['previous match', () => dispatchEvent(new CustomEvent(STEP_MATCH, { detail: -1 }))],
        i: [
          'root of the flame graph at the top or at the bottom',
          () => go({ direction: place.direction === 'up' ? 'down' : 'up' }, 'replace'),
        ],
        v: [
          'the next view',
          () =>
            go({
              view: VIEWS[(VIEWS.findIndex(({ value }) => value === place.view) + 1) % VIEWS.length].value,
            }),
        ],
      }),
      [go, place.direction, place.view],
    ),
  );
}

/** Closes what the reader has opened last: the function's panel, then the highlight and the search. */
function useEscape({ fn, mark, find, view }: ExplorePlace, go: Go): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || view === 'sandwich' || (fn === 0 && mark === '' && find === '')) return;
      const target = event.target as HTMLElement;
      if (target.closest('input, select, textarea') || document.querySelector('dialog[open], :popover-open'))
        return;
      go(fn === 0 ? { mark: '', find: '' } : { fn: 0 });
      event.preventDefault();
      event.stopPropagation();
    };
    // Before the flame graph, whose Escape shows all stacks.
    addEventListener('keydown', onKeyDown, { capture: true });
    return () => removeEventListener('keydown', onKeyDown, { capture: true });
  }, [fn, mark, find, view, go]);
}
