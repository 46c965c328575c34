/** A share as a bar with its number. */
import { percent } from '../../selection/numbers.ts';
import './fleet.css';

export function ShareBar({ share, text }: { share: number | null; text?: string }) {
  if (share === null) return <span title="not known">–</span>;
  return (
    <span className="share-bar">
      <span className="rail" aria-hidden="true">
        <i style={{ width: `${100 * Math.min(1, share)}%` }} />
      </span>
      <span>{text ?? percent(share, 0)}</span>
    </span>
  );
}
