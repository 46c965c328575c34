/** Names that are spelled like another: for "Did you mean …?". */

/** At most this many. */
const MOST = 3;

/** The values nearest to a text, nearest first; those that differ in too many letters are left out. */
export function nearTo(text: string, values: readonly string[]): string[] {
  const wanted = text.toLowerCase();
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  return values
    .map((value) => ({ value, far: distanceOf(wanted, value.toLowerCase()) }))
    .filter(({ far }) => far <= allowed)
    .sort((a, b) => a.far - b.far)
    .slice(0, MOST)
    .map(({ value }) => value);
}

/** 1 if one contains the other, or else the letters to insert, delete or replace. */
function distanceOf(a: string, b: string): number {
  if (a.length >= 3 && b.length >= 3 && (a.includes(b) || b.includes(a))) return 1;
  let row = Array.from({ length: b.length + 1 }, (_, k) => k);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}
