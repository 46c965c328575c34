/** The two sides of a comparison in words: they are named by their differences. */
import type { SelectionEcho } from '../../api/types.ts';
import { localMinute } from '../../selection/time.ts';
import { formatMatchers, parseMatchers, type Matcher } from '../../selection/matchers.ts';

/** The shortest names that tell the sides apart: `r10389`, `r10388`; else `after`, `before`. */
export function shortSidesOf(selection: SelectionEcho, base: SelectionEcho): [string, string] {
  const [mine, theirs] = [parseMatchers(selection.select), parseMatchers(base.select)];
  const others: [string, string] = ['after', 'before'];
  if (mine === null || theirs === null || range(selection) !== range(base)) return others;
  const known = (list: readonly Matcher[]) => new Set(list.map((m) => formatMatchers([m])));
  const [a, b] = [mine, theirs].map((list, k) => {
    const elsewhere = known(k === 0 ? theirs : mine);
    return list.filter((m) => !elsewhere.has(formatMatchers([m])));
  });
  const same = a.length === 1 && b.length === 1 && a[0].label === b[0].label;
  return same && a[0].operator === '=' && b[0].operator === '=' ? [a[0].value, b[0].value] : others;
}

export function sidesOf(selection: SelectionEcho, base: SelectionEcho): [string, string] {
  const parts: [string, string][] = [];
  if (selection.select !== base.select)
    parts.push([
      matchersBeyond(selection.select, base.select),
      matchersBeyond(base.select, selection.select),
    ]);
  if (selection.campaign !== base.campaign)
    parts.push([`campaign ${selection.campaign}`, `campaign ${base.campaign}`]);
  // To the minute: the server resolves "now" anew for each side.
  if (range(selection) !== range(base)) parts.push([range(selection), range(base)]);
  if (parts.length === 0) return ['the selection', 'the same selection'];
  return [parts.map(([a]) => a).join(', '), parts.map(([, b]) => b).join(', ')];
}

/** `version = 2` if the other side has another version; the whole text if it cannot be parsed. */
function matchersBeyond(text: string, other: string): string {
  const [mine, theirs] = [parseMatchers(text), parseMatchers(other)];
  if (mine === null || theirs === null) return text || 'all';
  const known = new Set(theirs.map((m) => formatMatchers([m])));
  const own = mine.filter((m) => !known.has(formatMatchers([m])));
  return own.length === 0 ? 'all' : own.map(word).join(', ');
}

function word({ label, operator, value }: Matcher): string {
  const sign = { '=': '=', '!=': '≠', '=~': '~', '!~': '≁' }[operator];
  return `${label} ${sign} ${value === '' ? '(none)' : value}`;
}

/** The end without its day if the start has the same: `2026-11-21 04:05–05:05`. */
function range({ from, to }: SelectionEcho): string {
  const [start, end] = [localMinute(from), localMinute(to)];
  return start.slice(0, 10) === end.slice(0, 10) ? `${start}–${end.slice(11)}` : `${start} – ${end}`;
}
