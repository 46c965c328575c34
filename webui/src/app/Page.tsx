/** A page: its title, the selection it shows, and its content. */
import { useEffect, type ReactNode } from 'react';
import type { Measure } from '../estimates/measure.ts';
import { parseMatchers } from '../selection/matchers.ts';
import type { BaseParams, Selection } from '../selection/selection.ts';
import { SelectionBar } from './SelectionBar.tsx';
import type { Shared } from './ShareMenu.tsx';
import type { Go } from './usePlace.ts';

/** What every page with a selection has in its URL. */
export type Shown = Selection & { measure: Measure } & Partial<BaseParams>;
export type GoShown = Go<Shown>;

interface Props {
  title: string;
  /** A class of `main`, for the page's own layout. */
  className: string;
  busy?: boolean;
  children: ReactNode;
}

export function Page({ title, className, busy = false, children }: Props) {
  useEffect(() => {
    document.title = `${title} – fleetprof`;
  }, [title]);
  return (
    <main id="main" className={className} aria-busy={busy} tabIndex={-1}>
      {children}
    </main>
  );
}

interface SelectionPageProps extends Props {
  place: Shown;
  go: GoShown;
  /** The page's main question, for copies and downloads. */
  share: Shared | null;
}

/** A page about a selection of profiles, which the second row shows and changes. */
export function SelectionPage({ place, go, share, title, ...page }: SelectionPageProps) {
  const filters = (parseMatchers(place.select) ?? []).map((m) => `${m.label}${m.operator}${m.value}`);
  const filtered = filters.length === 0 ? title : `${title}: ${filters.join(', ')}`;
  return (
    <>
      <SelectionBar place={place} go={go} share={share} />
      <Page title={filtered} {...page} />
    </>
  );
}
