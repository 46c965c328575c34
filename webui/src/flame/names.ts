/** Shortens function names to fit a box: removes the front first, because the last part is most specific. */
import { suffixOf } from './suffixes.ts';

/**
 * At most `room` characters of `full`.
 *
 * Removes in turn, until the name fits: a compiler's suffix (`.isra.0`, put back if it fits in the end), template
 * arguments, the parameter list, leading scopes, the marks of a closure; then cuts the name with an ellipsis. The
 * offset of a place in a binary stays: `libsq…+0xfc9b0`. Names that begin with a bracket, such as `<lambda>` and
 * `<module>`, are kept whole. Empty if not even three characters fit.
 */
export function shorten(full: string, room: number): string {
  if (full.length <= room) return full;
  if (room < 3) return '';
  const offset = offsetOf(full);
  if (offset !== '') return withOffset(full, offset, room);
  const suffix = suffixOf(full);
  const name = withoutSuffix(full.slice(0, full.length - suffix.length), room);
  return name.length + suffix.length <= room ? name + suffix : name;
}

/** `+0x1a2b40` of a function without a name, to distinguish it from its neighbours; empty for any other. */
export function offsetOf(name: string): string {
  return /.(\+0x[0-9a-f]+)$/.exec(name)?.[1] ?? '';
}

function withOffset(name: string, offset: string, room: number): string {
  if (offset.length > room) return `${offset.slice(0, room - 1)}…`;
  const left = room - offset.length - 1;
  return left < 1 ? offset : `${name.slice(0, left)}…${offset}`;
}

function withoutSuffix(full: string, room: number): string {
  if (full.length <= room) return full;
  let name = withoutTemplateArguments(full);
  if (name.length > room) name = withoutParameters(name);
  name = withoutLeadingScopes(name, room);
  if (name.length > room) name = withoutClosure(name);
  if (name.length > room) name = withoutParameters(name);
  return name.length <= room ? name : name.slice(0, room - 1) + '…';
}

function withoutLeadingScopes(full: string, room: number): string {
  let name = full;
  while (name.length > room) {
    const cut = endOfFirstScope(name);
    if (cut < 0) break;
    name = name.slice(cut);
  }
  return name;
}

/**
 * `Vec<Pair<A, B>>::push` → `Vec::push`, `Map[go.shape.int].get` → `Map.get`. A bracket at the start of a name's part
 * stays: `f.<lambda>`.
 */
function withoutTemplateArguments(name: string): string {
  let out = '';
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if ((c === '<' || c === '[') && (depth > 0 || opensArguments(name, i))) depth++;
    else if ((c === '>' && depth > 0 && name[i - 1] !== '-') || (c === ']' && depth > 0)) depth--;
    else if (depth === 0) out += c;
  }
  return depth === 0 ? out : name;
}

function opensArguments(name: string, at: number): boolean {
  return (
    at > 0 &&
    /\w/.test(name[at - 1]) &&
    name[at + 1] !== ']' &&
    !/operator<?(?: new| delete)?$/.test(name.slice(0, at))
  );
}

/** `f(int, char*) const` → `f`; `operator()` and Go's `(*T).m` keep theirs. */
function withoutParameters(name: string): string {
  const m = /^(.*[^\s:.*(])\([^()]*(?:\([^()]*\)[^()]*)*\)(?: const)?(?: \[clone [^\]]*\])*$/.exec(name);
  return m && !m[1].endsWith('operator') ? m[1] : name;
}

/**
 * What follows a function's name to denote a closure or shim in it: Go's `.func1.2`, `.gowrap1` and `-fm`,
 * Rust's `::{{closure}}`, `::{closure#0}` and `{{vtable.shim}}`, C++'s `::{lambda(int)#1}::operator()` and `::$_0`.
 */
const CLOSURE = new RegExp(
  [
    '(?:\\.(?:func|gowrap|deferwrap)\\d+(?:\\.\\d+)*)+(?:-fm)?$',
    '-fm$',
    '(?:(?:::)?\\{\\{?(?:closure|vtable|shim|constant)[^{}]*\\}?\\})+$',
    '(?:::(?:\\{lambda[^{}]*\\}|\\$_\\d+)(?:::operator\\(\\))?)+$',
  ].join('|'),
);

/** Where the marks of a closure begin; the name's length if it is none. */
function closureAt(name: string): number {
  const at = CLOSURE.exec(name)?.index ?? 0;
  return at > 0 ? at : name.length;
}

function withoutClosure(name: string): string {
  return name.slice(0, closureAt(name));
}

/** Start of the second part, or -1 if there is only one part. Scopes inside brackets do not count. */
function endOfFirstScope(name: string): number {
  const stop = closureAt(name); // a closure belongs to the function that it is in
  let depth = 0;
  for (let i = 0; i < stop - 1; i++) {
    const c = name[i];
    if (c === '(' || c === '<' || c === '[' || c === '{') depth++;
    else if (c === ')' || c === '>' || c === ']' || c === '}') depth = Math.max(0, depth - 1);
    else if (depth === 0 && i > 0) {
      if (c === ':' && name[i + 1] === ':') return i + 2 < stop ? i + 2 : -1;
      if (c === '.' || c === '/') return i + 1;
    }
  }
  return -1;
}
