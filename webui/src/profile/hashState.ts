/** The page's state in the fragment of its address, so that Back undoes a step and a copied address restores it. */
import { useCallback, useEffect, useState } from 'react';

export interface ProfileState {
  view: 'both' | 'flame' | 'table';
  /** Regular expression that highlights functions. */
  find: string;
  /** Key of the frame that the graph is zoomed to. */
  node: string;
  up: '' | '1';
}

const DEFAULTS: ProfileState = { view: 'both', find: '', node: '', up: '' };

export function parseState(hash: string): ProfileState {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const view = given.get('view');
  return {
    view: view === 'flame' || view === 'table' ? view : 'both',
    find: given.get('find') ?? '',
    node: given.get('node') ?? '',
    up: given.get('up') === '1' ? '1' : '',
  };
}

export function formatState(state: ProfileState): string {
  const changed = Object.entries(state).filter(
    ([name, value]) => value !== DEFAULTS[name as keyof ProfileState],
  );
  return changed.length === 0 ? '#' : `#${new URLSearchParams(changed)}`;
}

export function useHashState(): [ProfileState, (change: Partial<ProfileState>, replace?: boolean) => void] {
  const [state, setState] = useState(() => parseState(location.hash));
  useEffect(() => {
    const read = (): void => setState(parseState(location.hash));
    addEventListener('popstate', read);
    return () => removeEventListener('popstate', read);
  }, []);
  const go = useCallback((change: Partial<ProfileState>, replace = false) => {
    const next = { ...parseState(location.hash), ...change };
    history[replace ? 'replaceState' : 'pushState'](null, '', formatState(next));
    setState(next);
  }, []);
  return [state, go];
}
