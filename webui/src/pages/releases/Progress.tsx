/** The progress of a roll-out as a bar and a number. */
import type { Estimate } from '../../estimates/interval.ts';
import { isBounded } from '../../estimates/interval.ts';

export function Progress({ share }: { share: Estimate | null }) {
  if (share === null) return <span className="note">not seen lately</span>;
  const text = `${Math.round(100 * share.value)} %`;
  const interval = isBounded(share)
    ? `95 % interval ${(100 * share.lo).toFixed(0)} to ${(100 * share.hi).toFixed(0)} %`
    : '';
  return (
    <span className="roll-out" title={interval}>
      <span className="track" aria-hidden="true">
        <span className="done" style={{ width: `${100 * Math.min(1, share.value)}%` }} />
      </span>
      {text}
    </span>
  );
}
