/**
 * The page's complete state, stored in the query string: a link shows another person the same thing, and
 * Back undoes changes.
 *
 * The first group is the selection and the second the base of a comparison, both with the API's parameter
 * names; the third is the display.
 */
import { MEASURES, type Measure } from '../estimates/measure.ts';

export interface Place {
  event: string;
  /** RFC 3339 or `now-15m`. */
  from: string;
  /** RFC 3339 or `now`. */
  to: string;
  /** Label matchers as text; empty selects everything. */
  select: string;
  campaign: string;
  /** Regular expressions on a frame's function, file and binary: keep stacks with or without such a frame. */
  focus: string;
  ignore: string;
  /** Remove such frames, all others, or all frames above the outermost such frame from the stacks. */
  hide: string;
  show: string;
  show_from: string;

  /** Empty: as in the selection. All of them empty: the preceding time (compare/base.ts). */
  base_select: string;
  base_from: string;
  base_to: string;
  base_campaign: string;

  view: View;
  /** The meaning of the table's rows: function, file, binary or a label. */
  by: string;
  /** The measure of amounts. */
  measure: Measure;
  sort: Sort;
  find: string;
  /** `find` is a regular expression. */
  regex: boolean;
  /** The frames highlighted in the flame graph: `function:17`, `file:a.c`, `binary:libc.so.6`. */
  mark: string;
  /** Key of the frame that the flame graph is zoomed to (flame/identity.ts); empty: all. */
  node: string;
  direction: 'down' | 'up';
}

export const VIEWS = ['table', 'both', 'flame', 'diff', 'reliability'] as const;
export type View = (typeof VIEWS)[number];

export const SORTS = ['-self', 'self', '-total', 'total', 'name'] as const;
export type Sort = (typeof SORTS)[number];

export const HOME: Readonly<Place> = {
  event: 'cpu',
  from: 'now-1h',
  to: 'now',
  select: '',
  campaign: 'fleet',
  focus: '',
  ignore: '',
  hide: '',
  show: '',
  show_from: '',
  base_select: '',
  base_from: '',
  base_to: '',
  base_campaign: '',
  view: 'both',
  by: 'function',
  measure: 'share',
  sort: '-self',
  find: '',
  regex: false,
  mark: '',
  node: '',
  direction: 'down',
};

const ORDER = Object.keys(HOME) as (keyof Place)[];
/** People do not type longer texts; the server rejects them too. */
const MAX_LENGTH = 4096;

/** Unknown or invalid values in a query string are replaced by defaults. */
export function parsePlace(query: string): Place {
  const given = new URLSearchParams(query);
  const text = (name: keyof Place): string => given.get(name)?.slice(0, MAX_LENGTH) || String(HOME[name]);
  const choice = <T extends string>(name: keyof Place, allowed: readonly T[]): T => {
    const value = given.get(name);
    return allowed.find((a) => a === value) ?? (HOME[name] as T);
  };
  return {
    event: text('event'),
    from: text('from'),
    to: text('to'),
    select: text('select'),
    campaign: text('campaign'),
    focus: text('focus'),
    ignore: text('ignore'),
    hide: text('hide'),
    show: text('show'),
    show_from: text('show_from'),
    base_select: text('base_select'),
    base_from: text('base_from'),
    base_to: text('base_to'),
    base_campaign: text('base_campaign'),
    view: choice('view', VIEWS),
    by: text('by'),
    measure: choice('measure', MEASURES),
    sort: choice('sort', SORTS),
    find: text('find'),
    regex: given.get('regex') === '1',
    mark: text('mark'),
    node: text('node'),
    direction: choice('direction', ['down', 'up']),
  };
}

/** The shortest query string that parses to this place: defaults are omitted. Empty, or begins with `?`. */
export function formatPlace(place: Place): string {
  const query = new URLSearchParams();
  for (const name of ORDER) {
    const value = place[name];
    if (value !== HOME[name]) query.set(name, value === true ? '1' : String(value));
  }
  // URLSearchParams escapes more than a query requires; these characters stay readable.
  const readable = query
    .toString()
    .replace(/%3A/g, ':')
    .replace(/%2C/g, ',')
    .replace(/%7E/g, '~')
    .replace(/%2F/g, '/');
  return readable === '' ? '' : `?${readable}`;
}

/** The query parameters for this place, common to all routes of the API. */
export interface SelectionQuery {
  event: string;
  from: string;
  to: string;
  select?: string;
  campaign: string;
  focus?: string;
  ignore?: string;
  hide?: string;
  show?: string;
  show_from?: string;
}

/** Parameters that may be omitted. */
const OPTIONAL = ['select', 'focus', 'ignore', 'hide', 'show', 'show_from'] as const;

export function selectionOf(place: Place): SelectionQuery {
  const { event, from, to, campaign } = place;
  const query: SelectionQuery = { event, from, to, campaign };
  for (const name of OPTIONAL) if (place[name] !== '') query[name] = place[name];
  return query;
}
