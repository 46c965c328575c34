import type { LegendEntry } from '../flame/colouring.ts';
import type { Palette } from '../flame/palette.ts';
import { percent } from '../selection/numbers.ts';

const LONGEST = 6;
const LEAST_SHARE = 0.005;

/** The meaning of the commonest colours. */
export function Legend({ entries, palette }: { entries: readonly LegendEntry[]; palette: Palette }) {
  const shown = entries.slice(0, LONGEST).filter(({ share }) => share === null || share >= LEAST_SHARE);
  return (
    <ul className="legend" aria-label="colours">
      {shown.map(({ text, share, colour }) => (
        <li key={text} title={share === null ? text : `${text}: ${percent(share)} of self time`}>
          <span className="swatch" style={{ background: colour(palette) }} />
          <span className="text">{text}</span>
        </li>
      ))}
    </ul>
  );
}
