/** Selections and links about one function. */
import { formatMatchers, literal, parseMatchers } from '../../selection/matchers.ts';
import type { SelectionQuery } from '../../selection/selection.ts';

/** What identifies a function in matchers. */
export interface Named {
  name: string;
  binary: string;
}

/** A pattern that matches a function of exactly this name, in any binary. */
export function exactly(name: string): string {
  return `^${literal(name)}$`;
}

/**
 * The selection of stacks that contain the function. A matcher, not `focus`, so that the reader's own `focus` stays.
 *
 * `alone`: no other function has its name; otherwise stacks also need a frame of its binary, which excludes most, but
 * not all, stacks of its namesakes.
 */
export function containing(query: SelectionQuery, { name, binary }: Named, alone: boolean): SelectionQuery {
  const matchers = parseMatchers(query.select ?? '');
  if (matchers === null) return query; // the server reports the mistake
  const added = [{ label: 'function', operator: '=', value: name } as const];
  const within = alone ? [] : [{ label: 'binary', operator: '=', value: binary } as const];
  return { ...query, select: formatMatchers([...matchers, ...added, ...within]) };
}
