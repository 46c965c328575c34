/**
 * Keyboard shortcuts of the mounted components, and the list of them for the help dialog.
 *
 * A name is a key (`f`, `?`), two keys in a row (`g h`), or a key with Ctrl or ⌘ (`mod+k`). Shortcuts without Ctrl or ⌘
 * are inactive in text fields and while a dialog or popover is open.
 */
import { useEffect } from 'react';

/** What the key does, and the action; null: the focused element handles the key itself. */
export type Keys = Readonly<Record<string, readonly [does: string, run: (() => void) | null]>>;

interface Group {
  title: string;
  keys: Keys;
}

const groups = new Set<Group>();
/** A second key follows the first within this time. */
const SEQUENCE_MS = 1_000;
let first = { key: '', at: 0 };

function onKeyDown(event: KeyboardEvent): void {
  if (event.altKey || event.defaultPrevented) return;
  const held = event.ctrlKey || event.metaKey;
  const target = event.target as HTMLElement;
  if (!held && target.closest('input, select, textarea, dialog[open], :popover-open')) return;
  const sequence = performance.now() - first.at < SEQUENCE_MS ? `${first.key} ${event.key}` : '';
  const run = held ? runOf(`mod+${event.key.toLowerCase()}`) : (runOf(sequence) ?? runOf(event.key));
  first = { key: event.key, at: performance.now() };
  if (run === null) return;
  event.preventDefault();
  first.at = 0;
  run();
}

/** The action of the component that was mounted last. */
function runOf(name: string): (() => void) | null {
  let found: (() => void) | null = null;
  for (const { keys } of groups) if (Object.hasOwn(keys, name)) found = keys[name][1] ?? found;
  return found;
}

export function useKeys(title: string, keys: Keys): void {
  useEffect(() => {
    const group = { title, keys };
    if (groups.size === 0) addEventListener('keydown', onKeyDown);
    groups.add(group);
    return () => {
      groups.delete(group);
      if (groups.size === 0) removeEventListener('keydown', onKeyDown);
    };
  }, [title, keys]);
}

/** The keys that work now, by group: those of the page first. */
export function activeKeys(): { title: string; keys: [name: string, does: string][] }[] {
  const titles = new Map<string, [string, string][]>();
  for (const { title, keys } of groups) {
    const list = titles.get(title) ?? [];
    for (const [name, [does]] of Object.entries(keys)) list.push([name, does]);
    titles.set(title, list);
  }
  return [...titles].map(([title, keys]) => ({ title, keys }));
}
