/** The colour of each frame of a tree, by one of several properties, and the legend. */
import { byWeight, CUT, groupOf, KERNEL, PYTHON, UNNAMED, type Group } from './groups.ts';
import { assignHues, preferredHue, type Hues } from './hues.ts';
import type { Palette } from './palette.ts';
import type { FlameFunction, FlameTree } from './tree.ts';

/** package: package or binary. kind: kernel, library, the program itself or Python. application: of trees grouped by it. */
export type ColourBy = 'package' | 'application' | 'kind' | 'self';

export interface LegendEntry {
  text: string;
  /** Share of the tree's weight that is self of these frames; null in legends of a scale. */
  share: number | null;
  colour(palette: Palette): string;
}

export interface Colouring {
  colourOf(node: number, palette: Palette): string;
  /** Heaviest first. */
  legend: readonly LegendEntry[];
  /** The hues of the heaviest groups, to be remembered. */
  hues: Hues;
}

/** Computed once per tree and mode. `remembered`: hues of groups in earlier trees. */
export function colouring(mode: ColourBy, tree: FlameTree, remembered: Hues): Colouring {
  switch (mode) {
    case 'self':
      return bySelf(tree);
    case 'application':
      return isGrouped(tree) ? byApplication(tree, remembered) : byGroup(tree, groupOf, remembered);
    case 'kind':
      return byGroup(tree, originOf, ORIGIN_HUES);
    case 'package':
      return byGroup(tree, groupOf, remembered);
  }
}

const PROGRAM = 'program';
const LIBRARY = 'library';
const UNKNOWN = 'unknown binary';
const ORIGIN_HUES: Hues = new Map([
  [PROGRAM, 0],
  [LIBRARY, 1],
  [PYTHON, 2],
]);
const SHARED_OBJECT = /\.so(?:\.|$)|\.dylib$|\.dll$|^\[?vdso\]?$/;

function originOf(f: FlameFunction): string {
  if (f.kind === 'kernel') return KERNEL;
  if (f.kind === 'marker') return CUT;
  if (f.binary === '') return UNKNOWN;
  if (f.binary === PYTHON) return PYTHON;
  return SHARED_OBJECT.test(f.binary) ? LIBRARY : PROGRAM;
}

/** By a property of the function. */
function byGroup(tree: FlameTree, of: (f: FlameFunction) => string, remembered: Hues): Colouring {
  const groups = tree.functions.map(of);
  const heaviest = byWeight(tree, groups);
  const hues = assignHues(coloured(heaviest), remembered);
  const shade = shadeOf(hues, remembered);
  const shades = groups.map(shade);
  return {
    colourOf: (node, palette) => {
      const k = tree.func[node];
      return k < 0 ? palette.root : colourOf(shades[k], palette);
    },
    legend: heaviest.map(({ name, share }) => {
      const own = shade(name);
      return { text: name, share, colour: (palette) => colourOf(own, palette) };
    }),
    hues: of === groupOf ? hues : new Map(),
  };
}

type Shade = number | 'kernel' | 'unnamed';

function shadeOf(hues: Hues, remembered: Hues): (group: string) => Shade {
  return (group) => {
    if (group === KERNEL) return 'kernel';
    if (group === UNNAMED || group === CUT || group === UNKNOWN) return 'unnamed';
    return hues.get(group) ?? remembered.get(group) ?? preferredHue(group);
  };
}

function colourOf(shade: Shade, palette: Palette): string {
  return typeof shade === 'number' ? palette.hues[shade] : palette[shade];
}

/** The names of the groups that have a hue. */
function coloured(groups: readonly Group[]): string[] {
  const shade = shadeOf(new Map(), new Map());
  return groups.filter(({ name }) => typeof shade(name) === 'number').map(({ name }) => name);
}

/** A tree grouped by labels begins with frames that are no functions; their ids are below 0. */
function isGrouped(tree: FlameTree): boolean {
  return tree.functions.some(({ id }) => id < 0);
}

/** By the label's value at the outermost level. */
function byApplication(tree: FlameTree, remembered: Hues): Colouring {
  const top = new Int32Array(tree.n).fill(-1); // the function of each node's outermost frame
  const shares = new Map<string, number>();
  for (let i = 1; i < tree.n; i++) {
    top[i] = tree.depth[i] === 1 ? tree.func[i] : top[tree.parent[i]];
    if (tree.depth[i] !== 1) continue;
    const { name } = tree.functions[tree.func[i]];
    shares.set(name, (shares.get(name) ?? 0) + tree.total[i] / (tree.total[0] || 1));
  }
  const heaviest = [...shares]
    .map(([name, share]) => ({ name, share }))
    .sort((a, b) => b.share - a.share || (a.name < b.name ? -1 : 1));
  const hues = assignHues(coloured(heaviest), remembered);
  const shade = shadeOf(hues, remembered);
  return {
    colourOf: (node, palette) =>
      top[node] < 0 ? palette.root : colourOf(shade(tree.functions[top[node]].name), palette),
    legend: heaviest.map(({ name, share }) => ({
      text: name,
      share,
      colour: (palette) => colourOf(shade(name), palette),
    })),
    hues,
  };
}

/** By the part of a frame's time that is its own. */
function bySelf(tree: FlameTree): Colouring {
  const step = (palette: Palette, own: number): string =>
    palette.heat[Math.min(palette.heat.length - 1, Math.floor(own * palette.heat.length))];
  return {
    colourOf: (node, palette) =>
      tree.func[node] < 0 ? palette.root : step(palette, tree.self[node] / (tree.total[node] || 1)),
    legend: [0, 0.25, 0.5, 0.75, 1].map((own) => ({
      text: `${100 * own} % self`,
      share: null,
      colour: (palette) => step(palette, own),
    })),
    hues: new Map(),
  };
}
