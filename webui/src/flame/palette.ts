/**
 * The colours of frames in both themes.
 *
 * The hues, the kernel's colour and the grey of frames without a name differ pairwise by at least 8.5 (CIEDE2000) also for
 * readers who do not see red or green, and by 14 for others; ink has a contrast of 4.5 : 1 on each of them, and dimmed
 * frames 1.5 : 1 on the paper (tests/flame/palette.test.ts). Hue i of one theme resembles hue i of the other where
 * these bounds permit.
 */
export interface Palette {
  hues: readonly string[];
  kernel: string;
  unnamed: string;
  root: string;
  match: string;
  /** Frames that do not match during a search, and the callers of the zoomed frame. */
  dim: string;
  sliver: string;
  /** From frames whose time passes to their callees to frames that take it themselves. */
  heat: readonly string[];
  /** Frames that take more or less than before, from little to much, and those without a change. */
  more: readonly string[];
  less: readonly string[];
  same: string;
  ink: string;
  dimInk: string;
  paper: string;
  /** Outline of the selected and of the hovered frame. */
  selected: string;
  hovered: string;
}

export const LIGHT: Palette = {
  hues: [
    '#97c5ff',
    '#daef89',
    '#cd92c5',
    '#0b969b',
    '#cfbe96',
    '#a67d7d',
    '#a7f6d3',
    '#96b1a4',
    '#abf1ff',
    '#a6805b',
  ],
  kernel: '#f28c52',
  unnamed: '#c3c7ce',
  root: '#dfe3e9',
  match: '#dc4df0',
  dim: '#d2d5da',
  sliver: '#d9dce2',
  heat: ['#f6ead2', '#f5d28f', '#f3b25b', '#ee8a3c', '#e0662f'],
  more: ['#fbe3cf', '#f9c79d', '#f5a76a', '#ef8637'],
  less: ['#d8e4f5', '#b3cdf0', '#8ab3e8', '#6f9fe0'],
  same: '#e3e5e9',
  ink: '#15171a',
  dimInk: '#4a515c',
  paper: '#ffffff',
  selected: '#101216',
  hovered: '#5a6270',
};

export const DARK: Palette = {
  hues: [
    '#123881',
    '#004838',
    '#780d2f',
    '#037884',
    '#6c5739',
    '#b54759',
    '#0d7b60',
    '#413756',
    '#0a5f88',
    '#6d2304',
  ],
  kernel: '#a04a12',
  unnamed: '#555a64',
  root: '#353a43',
  match: '#b62ec5',
  dim: '#363a44',
  sliver: '#343840',
  heat: ['#2d2a26', '#493c26', '#674a20', '#85541a', '#a65a16'],
  more: ['#3d2c1e', '#5c3a1c', '#7d4a1a', '#a05a14'],
  less: ['#1f2f45', '#254370', '#2c568f', '#3567ad'],
  same: '#33373f',
  ink: '#f2f3f5',
  dimInk: '#b3bac6',
  paper: '#16181d',
  selected: '#ffffff',
  hovered: '#9aa3b2',
};
