import type { ReactNode } from 'react';
import type { Sort } from '../app/pages.ts';
import type { ExploreGo } from '../app/usePlace.ts';

interface HeadingProps {
  sort: 'self' | 'total' | 'name';
  /** The table's current order. */
  current: Sort;
  go: ExploreGo;
  className: string;
  title?: string;
  children: ReactNode;
}

/** Amounts sort heaviest first, names from A; a second click reverses amounts. */
export function Heading({ sort, current, go, className, title, children }: HeadingProps) {
  const sorted = current === sort ? 'ascending' : current === `-${sort}` ? 'descending' : 'none';
  const next: Sort = sort === 'name' ? 'name' : current === `-${sort}` ? sort : `-${sort}`;
  return (
    <span role="columnheader" aria-sort={sorted} className={className}>
      <button type="button" className="sort" title={title} onClick={() => go({ sort: next }, 'replace')}>
        {children}
        <span aria-hidden="true">{sorted === 'descending' ? ' ↓' : sorted === 'ascending' ? ' ↑' : ''}</span>
      </button>
    </span>
  );
}
