/** The alternatives of a regular expression: `^malloc$|^free$` has two, which filters show one by one. */

/** The parts between the `|` outside groups and classes; a text that does not parse is one part. */
export function alternativesOf(pattern: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  let inClass = false;
  for (let k = 0; k < pattern.length; k++) {
    const char = pattern[k];
    if (char === '\\') {
      if (pattern[k + 1] === 'Q') {
        const end = pattern.indexOf('\\E', k + 2);
        k = end < 0 ? pattern.length : end + 1;
      } else k++;
    } else if (inClass) {
      if (char === ']') inClass = false;
    } else if (char === '[') {
      inClass = true;
      // A bracket that stands first belongs to the class: []a], [^]a].
      if (pattern[k + 1] === '^') k++;
      if (pattern[k + 1] === ']') k++;
    } else if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === '|' && depth === 0) {
      parts.push(pattern.slice(start, k));
      start = k + 1;
    }
  }
  // Flags at the start hold for all alternatives: (?i)a|b.
  if (depth !== 0 || inClass || /^\(\?[a-zA-Z-]+\)/.test(pattern)) return [pattern];
  parts.push(pattern.slice(start));
  return parts;
}

/** The expression without one of its alternatives. */
export function withoutAlternative(pattern: string, index: number): string {
  return alternativesOf(pattern)
    .filter((_, k) => k !== index)
    .join('|');
}

/** The name that `^name$` matches exactly; null for other expressions. */
export function exactName(alternative: string): string | null {
  const inner = /^\^(.*)\$$/s.exec(alternative)?.[1];
  if (inner === undefined) return null;
  const plain = inner.replace(/\\([.*+?^${}()|[\]\\])/g, '');
  return /[.*+?^${}()|[\]\\]/.test(plain) ? null : inner.replace(/\\(.)/g, '$1');
}
