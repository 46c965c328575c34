/** The hues of groups seen in this tab, so that a colour means the same in the next selection. */
import { HUES, type Hues } from './hues.ts';

const KEY = 'fleetprof:hues';
/** The latest ones; a tab that was open for a month needs no more. */
const LIMIT = 300;

type Store = Pick<Storage, 'getItem' | 'setItem'>;

export function rememberedHues(store: Store): Map<string, number> {
  try {
    const entries: unknown = JSON.parse(store.getItem(KEY) ?? '[]');
    if (!Array.isArray(entries)) return new Map();
    return new Map(entries.filter(isEntry));
  } catch {
    return new Map(); // storage is forbidden, or its content is damaged: colours are chosen anew
  }
}

export function rememberHues(store: Store, hues: Hues): void {
  const all = rememberedHues(store);
  for (const [group, hue] of hues) {
    all.delete(group); // to the end, with the latest
    all.set(group, hue);
  }
  try {
    store.setItem(KEY, JSON.stringify([...all].slice(-LIMIT)));
  } catch {
    // as above
  }
}

function isEntry(entry: unknown): entry is [string, number] {
  if (!Array.isArray(entry) || entry.length !== 2) return false;
  const [group, hue] = entry as unknown[];
  return typeof group === 'string' && Number.isInteger(hue) && Number(hue) >= 0 && Number(hue) < HUES;
}
