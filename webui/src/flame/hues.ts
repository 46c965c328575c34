/** Which hue a group has: its own preference, unless a heavier group of the tree has that hue. */

/** Number of hues of each palette, and of groups that certainly differ. */
export const HUES = 10;

/** Hues by group. */
export type Hues = ReadonlyMap<string, number>;

/**
 * Hues of the tree's heaviest groups, which are all different.
 *
 * A group keeps the hue in `remembered`, or else prefers one by its name; if a heavier group has it, the group gets
 * the next free one. `groups`: heaviest first.
 */
export function assignHues(groups: readonly string[], remembered: Hues): Map<string, number> {
  const assigned = new Map<string, number>();
  const taken = new Set<number>();
  const heaviest = groups.slice(0, HUES);
  const take = (group: string, hue: number): void => {
    assigned.set(group, hue);
    taken.add(hue);
  };
  // Before all others: a colour that the reader knows does not move.
  for (const group of heaviest) {
    const hue = remembered.get(group);
    if (hue !== undefined && !taken.has(hue)) take(group, hue);
  }
  for (const group of heaviest) {
    if (assigned.has(group)) continue;
    let hue = preferredHue(group);
    while (taken.has(hue)) hue = (hue + 1) % HUES;
    take(group, hue);
  }
  return assigned;
}

/** The hue of a group that is none of the heaviest. */
export function preferredHue(group: string): number {
  return fnv1a(group) % HUES;
}

function fnv1a(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}
