/** A page's state (app/pages.ts) bound to the URL. */
import { useCallback, useMemo } from 'react';
import { navigate, useSearch } from 'wouter/use-browser-location';
import type { ComparePlace, ExplorePlace, PageOf } from './pages.ts';
import { formatParams, parseParams, type Params, type ValuesOf } from '../selection/params.ts';

/** `push`: Back returns to the previous state. `replace`: an intermediate step, such as a typed letter. */
export type How = 'push' | 'replace';
export type Go<Place> = (change: Partial<Place>, how?: How) => void;
export type ExploreGo = Go<ExplorePlace>;
export type CompareGo = Go<ComparePlace>;

export function usePlace<P extends Params>(page: PageOf<P>): [ValuesOf<P>, Go<ValuesOf<P>>] {
  const query = useSearch();
  const place = useMemo(() => parseParams(page.params, query), [page, query]);
  const go = useCallback<Go<ValuesOf<P>>>(
    (change, how = 'push') => {
      // From the URL, not from the render: two changes in one event must both apply.
      const next = formatParams(page.params, { ...parseParams(page.params, location.search), ...change });
      if (next !== location.search) navigate(location.pathname + next, { replace: how === 'replace' });
    },
    [page],
  );
  return [place, go];
}
