/** What the newest version changed, in one line. */
import type { ReleaseComparison } from '../../api/types.ts';
import { plural } from '../../selection/numbers.ts';

export function Verdict({ comparison }: { comparison: ReleaseComparison | null }) {
  if (comparison === null) return <span className="note">one version only</span>;
  const { verdict, grew, shrank, power, examined, visits, previous_visits } = comparison;
  const behind = `${plural(visits, 'profile')} after, ${previous_visits} before, ${examined} functions compared`;
  if (verdict === 'too_little')
    return (
      <span className="note" title={behind}>
        not enough profiles yet
      </span>
    );
  if (verdict === 'no_change') {
    const found =
      power === null ? '' : `; a 1 % function that becomes 1.5× heavier is found ${percent(power)}`;
    return (
      <span title={behind + found}>
        no significant change{power !== null && power < 0.5 && <span className="note"> (little data)</span>}
      </span>
    );
  }
  return (
    <span title={behind}>
      {grew > 0 && <b className="grew">▲ {plural(grew, 'function')} heavier</b>}
      {grew > 0 && shrank > 0 && ', '}
      {shrank > 0 && <b className="shrank">▼ {shrank} lighter</b>}
    </span>
  );
}

function percent(power: number): string {
  return `${Math.round(100 * power)} % of the time`;
}
