/** The keys of a table's rows, as in the parameter `by`: `function`, `application,version`. */

/** The server's limit. */
export const MOST_KEYS = 6;

export function keysOf(by: string): string[] {
  return by.split(',');
}

/** `by` with one key more, or with another key at a place. */
export function withKey(by: string, key: string, at?: number): string {
  const keys = keysOf(by);
  if (keys.includes(key)) return by;
  if (at === undefined) keys.push(key);
  else keys[at] = key;
  return keys.join(',');
}

/** The last key cannot be removed. */
export function withoutKey(by: string, at: number): string {
  const keys = keysOf(by);
  return keys.length === 1 ? by : keys.filter((_, k) => k !== at).join(',');
}

/** `by` with a key one place to the left (−1) or to the right. */
export function moved(by: string, at: number, step: -1 | 1): string {
  const keys = keysOf(by);
  const to = at + step;
  if (to < 0 || to >= keys.length) return by;
  [keys[at], keys[to]] = [keys[to], keys[at]];
  return keys.join(',');
}
