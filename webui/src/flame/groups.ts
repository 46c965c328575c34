/** The groups of functions that have a colour in common: packages and binaries. */
import { suffixOf } from './suffixes.ts';
import type { FlameFunction, FlameTree } from './tree.ts';

export const KERNEL = 'kernel';
export const CUT = 'cut stacks';
export const UNNAMED = 'no symbols';
/** The binary of source-level frames that CPython interpreted. */
export const PYTHON = '[python]';

export function isUnnamed(f: FlameFunction): boolean {
  return f.status === 'unknown' || f.status === 'binary_only';
}

/** A function's package or binary, `kernel`, `no symbols` or `cut stacks`. A Python program's own code is `[python]`. */
export function groupOf(f: FlameFunction): string {
  if (f.kind === 'kernel') return KERNEL;
  if (f.kind === 'marker') return CUT;
  if (isUnnamed(f)) return UNNAMED;
  if (f.binary === PYTHON) return pythonPackageOf(f.file) ?? PYTHON;
  return packageOf(f.name) ?? (f.binary || 'other');
}

const INSTALLED = /\/(?:site|dist)-packages\/([^/]+)/;
const STANDARD = /\/python3\.\d+\/([^/]+)/;
const FROZEN = /^<frozen ([\w]+)/;

/** The installed package or standard module that a Python file belongs to; null for a program's own. */
export function pythonPackageOf(file: string): string | null {
  const found = INSTALLED.exec(file) ?? STANDARD.exec(file) ?? FROZEN.exec(file);
  return found === null ? null : found[1].replace(/\.py$/, '');
}

/**
 * The package in a name: `std` of C++ and Rust scopes, `net/http` of Go, `java.util` of dotted names;
 * null for a plain C name, for which the binary is more specific.
 */
export function packageOf(name: string): string | null {
  const bare = name.slice(0, name.length - suffixOf(name).length).replace(/^[<&*]+/, '');
  const scope = /^([A-Za-z_]\w*)(?:<|::)/.exec(bare);
  if (scope) return bare.includes('::') ? scope[1] : null;
  const go = /^((?:[\w.~-]+\/)+[\w~-]+)\./.exec(bare);
  if (go) return go[1];
  const dotted = /^([A-Za-z_]\w*)\.(?:(\w+)\.)?[\w(<*]/.exec(bare);
  if (!dotted) return null;
  return dotted[2] === undefined ? dotted[1] : `${dotted[1]}.${dotted[2]}`;
}

export interface Group {
  name: string;
  /** Share of the tree's weight that is self of its frames. */
  share: number;
}

/** Self time by group, heaviest first, ties by name. `of`: each function's group. */
export function byWeight(tree: FlameTree, of: readonly string[]): Group[] {
  const perFunction = new Float64Array(tree.functions.length);
  for (let i = 0; i < tree.n; i++) if (tree.func[i] >= 0) perFunction[tree.func[i]] += tree.self[i];
  const shares = new Map<string, number>();
  of.forEach((name, k) => {
    if (perFunction[k] > 0) shares.set(name, (shares.get(name) ?? 0) + perFunction[k] / (tree.total[0] || 1));
  });
  return [...shares]
    .map(([name, share]) => ({ name, share }))
    .sort((a, b) => b.share - a.share || (a.name < b.name ? -1 : 1));
}
