import { useMemo } from 'react';
import { colourOfFunction, DARK, heaviestGroups, LIGHT } from '../flame/colours.ts';
import type { FlameTree } from '../flame/tree.ts';
import { percent } from '../selection/numbers.ts';

/** The meaning of the commonest colours. */
export function Legend({ tree, dark }: { tree: FlameTree; dark: boolean }) {
  const groups = useMemo(() => heaviestGroups(tree, 6).filter((g) => g.share >= 0.005), [tree]);
  return (
    <ul className="legend" aria-label="colours">
      {groups.map(({ group, example, share }) => (
        <li key={group} title={`${group}: ${percent(share)} of self time`}>
          <span className="swatch" style={{ background: colourOfFunction(example, dark ? DARK : LIGHT) }} />
          <span className="text">{group}</span>
        </li>
      ))}
    </ul>
  );
}
