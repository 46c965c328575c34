/** Colours for canvases, which cannot use CSS variables: read from the tokens of the current theme. */

export interface SeriesColours {
  ink: string;
  mute: string;
  grid: string;
  hatch: string;
  accent: string;
  lines: string[];
  rest: string;
}

/** tokens.css: --series-1 … */
export const LINE_COLOURS = 8;

/** The CSS colour of line `k`; the remainder is grey. The same as on the canvas, for legends. */
export function lineColour(k: number, role: string): string {
  return role === 'remainder' ? 'var(--mute)' : `var(--series-${(k % LINE_COLOURS) + 1})`;
}

export function readColours(within: HTMLElement): SeriesColours {
  const probe = document.createElement('i');
  within.append(probe);
  const read = (value: string): string => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const colours = {
    ink: read('var(--ink)'),
    mute: read('var(--mute)'),
    grid: read('var(--line)'),
    hatch: read('var(--line-strong)'),
    accent: read('var(--accent)'),
    lines: Array.from({ length: LINE_COLOURS }, (_, k) => read(`var(--series-${k + 1})`)),
    rest: read('var(--mute)'),
  };
  probe.remove();
  return colours;
}

/** A computed colour, `rgb(1, 2, 3)`, with less opacity. */
export function faded(colour: string, opacity: number): string {
  return colour.startsWith('rgb(') ? colour.replace('rgb(', 'rgba(').replace(')', `, ${opacity})`) : colour;
}
