/** Facts with their names; those that are not known are left out. */
import type { ReactNode } from 'react';
import './fleet.css';

interface Props {
  /** null or empty: not known. */
  facts: readonly (readonly [string, ReactNode])[];
  /** Shown if none is known. */
  empty?: string;
}

export function Facts({ facts, empty = 'Nothing is known yet.' }: Props) {
  const known = facts.filter(([, value]) => value !== null && value !== '');
  if (known.length === 0) return <p className="note panel-body">{empty}</p>;
  return (
    <dl className="fact-list">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
