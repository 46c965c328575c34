/** Parts of sentences that several reports use. */

/** `a, b and c`. */
export function all(parts: readonly string[]): string {
  if (parts.length < 2) return parts[0] ?? '';
  return `${parts.slice(0, -1).join(', ')} and ${parts[parts.length - 1]}`;
}

/** The first few, and how many more there are: `a; b; c; and 4 more`. */
export function few(parts: readonly string[], most = 3): string {
  const rest = parts.length - most;
  return parts.slice(0, most).join('; ') + (rest > 0 ? `; and ${rest} more in the table` : '');
}

/** Intel(R) and (TM) signs and what follows @ say nothing in a sentence. */
export function shortPlatform(platform: string): string {
  return platform.replace(/\((R|TM)\)/g, '').replace(/ CPU @.*| \d+-Core Processor$/, '');
}
