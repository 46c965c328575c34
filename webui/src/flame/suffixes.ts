/** Suffixes that compilers and linkers append to a symbol: they say which copy of a function it is. */

/** Copies by GCC and Clang: `isra` of `finish_task_switch.isra.0`. */
const COPIES = 'isra|part|constprop|cold|llvm|lto_priv|localalias';

const SUFFIX = new RegExp(
  [
    `(?:\\.(?:${COPIES})(?:\\.\\d+)*)+$`,
    // The same as a demangler writes it.
    `(?: \\[clone (?:\\.(?:${COPIES})(?:\\.\\d+)*)+\\])+$`,
    // Go's calling conventions.
    '\\.abi(?:0|Internal)$',
    // Rust's hash of a symbol.
    '::h[0-9a-f]{16}$',
    // The version of a dynamic symbol.
    '(?<=\\w)@@?[A-Za-z_][\\w.]*$',
  ].join('|'),
);

/** The suffix of a function name, such as `.isra.0`, `.abi0` or `@GLIBC_2.14`; empty without one. */
export function suffixOf(name: string): string {
  const suffix = SUFFIX.exec(name)?.[0] ?? '';
  return suffix.length < name.length ? suffix : '';
}
