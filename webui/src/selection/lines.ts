/** Selections for questions about source lines, which conditions on frames cannot narrow. */
import { formatMatchers, isOnFrames, parseMatchers } from './matchers.ts';
import { FRAME_FILTERS, type SelectionQuery } from './selection.ts';

/** The query without its conditions on frames, and whether it had any. */
export function withoutFrameFilters(query: SelectionQuery): { query: SelectionQuery; had: boolean } {
  const left = { ...query };
  let had = false;
  for (const name of FRAME_FILTERS) {
    had ||= left[name] !== undefined;
    delete left[name];
  }
  const matchers = parseMatchers(query.select ?? '');
  if (matchers === null || !matchers.some(isOnFrames)) return { query: left, had };
  const select = formatMatchers(matchers.filter((matcher) => !isOnFrames(matcher)));
  if (select === '') delete left.select;
  else left.select = select;
  return { query: left, had: true };
}
