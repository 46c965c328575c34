/**
 * Assigns colours to frames: one of ten pastel hues by package or binary, always the same one;
 * kernel frames have their own, frames without a name are grey.
 */
import type { FlameFunction, FlameTree } from './tree.ts';

export interface Palette {
  hues: readonly string[];
  kernel: string;
  unnamed: string;
  root: string;
  match: string;
  /** Frames that do not match during a search, and the callers of the zoomed frame. */
  dim: string;
  sliver: string;
  ink: string;
  dimInk: string;
  paper: string;
  /** Outline of the selected and of the hovered frame. */
  selected: string;
  hovered: string;
}

/**
 * Eight hues of equal lightness, so that no package looks heavier than another, and two darker ones between
 * them; none is the kernel's orange-red.
 */
export const LIGHT: Palette = {
  hues: [
    '#a8cdf0',
    '#f3d98b',
    '#a9dcc3',
    '#e9bfe0',
    '#c9dd9c',
    '#c9c3f2',
    '#9fdada',
    '#f2c7ce',
    '#93cb9e',
    '#9db2ee',
  ],
  kernel: '#f5a376',
  unnamed: '#cdd0d6',
  root: '#dfe3e9',
  match: '#e879f9',
  dim: '#eceef1',
  sliver: '#d9dce2',
  ink: '#15171a',
  dimInk: '#4c535e',
  paper: '#ffffff',
  selected: '#101216',
  hovered: '#5a6270',
};

export const DARK: Palette = {
  hues: [
    '#2c567c',
    '#6b5a16',
    '#1f6149',
    '#713a68',
    '#485f1b',
    '#4f478c',
    '#155f62',
    '#793f4b',
    '#2f6f41',
    '#3b52a0',
  ],
  kernel: '#8f4316',
  unnamed: '#4a4e57',
  root: '#353a43',
  match: '#a21caf',
  dim: '#262930',
  sliver: '#343840',
  ink: '#f2f3f5',
  dimInk: '#aab1bd',
  paper: '#16181d',
  selected: '#ffffff',
  hovered: '#9aa3b2',
};

const KERNEL = -1;
const UNNAMED = -2;

/** Index of the hue for each function, or KERNEL or UNNAMED. Computed once per tree. */
const memory = new WeakMap<readonly FlameFunction[], Int8Array>();

export function colourOf(tree: FlameTree, node: number, palette: Palette): string {
  const k = tree.func[node];
  if (k < 0) return palette.root;
  let hues = memory.get(tree.functions);
  if (hues === undefined) {
    hues = Int8Array.from(tree.functions, hueOf);
    memory.set(tree.functions, hues);
  }
  return pick(hues[k], palette);
}

export function colourOfFunction(f: FlameFunction, palette: Palette): string {
  return pick(hueOf(f), palette);
}

function pick(hue: number, palette: Palette): string {
  if (hue === KERNEL) return palette.kernel;
  return hue === UNNAMED ? palette.unnamed : palette.hues[hue];
}

function hueOf(f: FlameFunction): number {
  if (f.kind === 'kernel') return KERNEL;
  if (f.kind === 'marker' || f.status === 'unknown' || f.status === 'binary_only') return UNNAMED;
  return fnv1a(groupOf(f)) % LIGHT.hues.length;
}

/** A frame's group, which determines its colour: package, binary, `kernel`, `no symbols` or `cut stacks`. */
export function groupOf(f: FlameFunction): string {
  if (f.kind === 'kernel') return 'kernel';
  if (f.kind === 'marker') return 'cut stacks';
  if (f.status === 'unknown' || f.status === 'binary_only') return 'no symbols';
  return packageOf(f.name) ?? (f.binary || 'other');
}

/**
 * The package in a name: `std` of C++ and Rust scopes, `net/http` of Go, `java.util` of dotted names;
 * null for a plain C name, for which the binary is more specific.
 */
export function packageOf(name: string): string | null {
  const bare = name.replace(/^[<&*]+/, '');
  const scope = /^([A-Za-z_]\w*)(?:<|::)/.exec(bare);
  if (scope) return bare.includes('::') ? scope[1] : null;
  const go = /^((?:[\w.~-]+\/)+[\w~-]+)\./.exec(bare);
  if (go) return go[1];
  const dotted = /^([A-Za-z_]\w*)\.(?:(\w+)\.)?[\w(<*]/.exec(bare);
  // `foo.constprop.0`, `foo.part.1`, `foo.cold`: a compiler's copies, not packages.
  if (!dotted || /\.(?:constprop|part|isra|cold|llvm|lto_priv|localalias)(?:\.|$)/.test(bare)) return null;
  return dotted[2] === undefined ? dotted[1] : `${dotted[1]}.${dotted[2]}`;
}

function fnv1a(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** The groups with the most self time, heaviest first, for the legend. */
export function heaviestGroups(
  tree: FlameTree,
  limit: number,
): { group: string; example: FlameFunction; share: number }[] {
  const perFunction = new Float64Array(tree.functions.length);
  for (let i = 1; i < tree.n; i++) perFunction[tree.func[i]] += tree.self[i];
  const groups = new Map<string, { group: string; example: FlameFunction; share: number }>();
  tree.functions.forEach((f, k) => {
    const group = groupOf(f);
    const entry = groups.get(group) ?? { group, example: f, share: 0 };
    entry.share += perFunction[k] / (tree.total[0] || 1);
    groups.set(group, entry);
  });
  return [...groups.values()].sort((a, b) => b.share - a.share).slice(0, limit);
}
