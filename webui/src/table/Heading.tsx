import type { ReactNode } from 'react';
import type { Go } from '../location/usePlace.ts';
import type { Place, Sort } from '../selection/place.ts';

interface HeadingProps {
  sort: 'self' | 'total' | 'name';
  place: Place;
  go: Go;
  number?: boolean;
  title?: string;
  children: ReactNode;
}

/** Amounts sort heaviest first, names from A; a second click turns amounts around. */
export function Heading({ sort, place, go, number, title, children }: HeadingProps) {
  const sorted = place.sort === sort ? 'ascending' : place.sort === `-${sort}` ? 'descending' : 'none';
  const next: Sort = sort === 'name' ? 'name' : place.sort === `-${sort}` ? sort : `-${sort}`;
  return (
    <span role="columnheader" aria-sort={sorted} className={number ? 'number' : ''}>
      <button type="button" className="sort" title={title} onClick={() => go({ sort: next }, 'replace')}>
        {children}
        <span aria-hidden="true">{sorted === 'descending' ? ' ↓' : sorted === 'ascending' ? ' ↑' : ''}</span>
      </button>
    </span>
  );
}
