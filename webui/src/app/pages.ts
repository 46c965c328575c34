/** Every page: its path and the parameters in its URL. Links are made from this list. */
import { MEASURES } from '../estimates/measure.ts';
import {
  choice,
  defaultsOf,
  flag,
  formatParams,
  integer,
  text,
  type Params,
  type ValuesOf,
} from '../selection/params.ts';
import { BASE, SELECTION } from '../selection/selection.ts';

/** The state of a page. */
export type PlaceOf<Page extends PageOf> = ValuesOf<Page['params']>;

export interface PageOf<P extends Params = Params> {
  /** A pattern: `/fn/:id`. */
  path: string;
  params: P;
}

export const SORTS = ['-self', 'self', '-total', 'total', 'name'] as const;
export type Sort = (typeof SORTS)[number];

const MEASURE = { measure: choice(MEASURES, 'share') };
/** Charts are drawn, or tables of the same numbers (app/useChartForm.ts). */
export const CHARTS = { charts: choice(['chart', 'table'], 'chart') };
/** Parameters of a page that shows a selection. */
export const SHOWN = { ...SELECTION, ...MEASURE, ...CHARTS };
/** Search within the page, in rows and frames. */
const FIND = { find: text(), regex: flag() };
/** What the colours of a flame graph mean (flame/colouring.ts). */
export const COLOURS = ['package', 'application', 'kind', 'self'] as const;
/** Key of the frame that a flame graph is zoomed to (flame/identity.ts), and its direction. */
const FLAME = {
  node: text(),
  direction: choice(['down', 'up'], 'down'),
  colour: choice(COLOURS, 'package'),
};

export const EXPLORE_VIEWS = ['table', 'both', 'flame', 'sandwich'] as const;
export const COMPARE_VIEWS = ['table', 'flame', 'graph', 'lines'] as const;

export function page<P extends Params>(path: string, params: P): PageOf<P> {
  return { path, params };
}

export const HOME = page('/', SHOWN);
export const EXPLORE = page('/explore', {
  ...SHOWN,
  view: choice(EXPLORE_VIEWS, 'both'),
  /** The meaning of the table's rows: function, file, binary or labels, separated by commas. */
  by: text('function'),
  sort: choice(SORTS, '-self'),
  ...FIND,
  /** The frames highlighted in the flame graph: `function:17`, `file:a.c`, `binary:libc.so.6`. */
  mark: text(),
  ...FLAME,
  /** Id of the function whose drawer is open; 0: none. */
  fn: integer(0, 0, Number.MAX_SAFE_INTEGER),
});
export const SERVICE = page('/service/:app', SHOWN);
export const FUNCTION = page('/fn/:id', {
  ...SHOWN,
  by: text('version'),
  /** Number of callers and of callees. */
  calls: integer(12, 1, 200),
});
export const GRAPH = page('/graph', {
  ...SHOWN,
  nodes: integer(60, 5, 400),
  as: choice(['graph', 'list'], 'graph'),
  focus_on: integer(0, 0, Number.MAX_SAFE_INTEGER),
  find: text(),
});
export const SOURCE = page('/source/:binary', {
  ...SHOWN,
  path: text(),
  line: integer(0, 0, 10_000_000),
  fn: integer(0, 0, Number.MAX_SAFE_INTEGER),
  version: text(),
});
export const ASM = page('/asm/:binary/:fn', {
  ...SHOWN,
  build_id: text(),
  /** The chosen instruction, hex; empty: none. */
  address: text(),
});
export const COMPARE = page('/compare', {
  ...SHOWN,
  ...BASE,
  view: choice(COMPARE_VIEWS, 'table'),
  by: text('function'),
  /** Which share is compared. */
  column: choice(['self', 'total'], 'total'),
  only: choice(['all', 'significant', 'slower', 'faster'], 'all'),
  /** Id of the function whose lines are compared; 0: that with the largest change. */
  fn: integer(0, 0, Number.MAX_SAFE_INTEGER),
  sort: text(),
  ...FIND,
  ...FLAME,
});
export const RELEASES = page('/releases', SHOWN);
export const RELEASE = page('/releases/:app', SHOWN);
export const CHANGES = page('/changes', { ...SHOWN, by: text('function') });
export const SHARED_CODE = page('/shared-code', {
  ...SHOWN,
  saving: integer(20, 1, 100),
  find: text(),
  /** Id of the function whose users are shown; 0: none. */
  users: integer(0, 0, Number.MAX_SAFE_INTEGER),
});
export const REPORTS = page('/reports', SHOWN);
/** Each kind adds its own parameters (pages/reports/report.ts). */
export const REPORT = page('/reports/:kind', SHOWN);
/** Whether a profile is reliable as a whole, and what more profiles would improve. */
export const RELIABILITY = page('/reports/reliability', {
  ...SHOWN,
  by: text('function'),
  /** The wanted distance from the fleet's profile, in percent. */
  precision: integer(10, 1, 100),
});
export const MACHINES = page('/machines', {
  find: text(),
  state: text('all'),
  sort: text('name'),
  offset: integer(0, 0, 100_000_000),
});
export const MACHINE = page('/machines/:name', {
  ...SHOWN,
  /** The profile that was requested here, and whose progress is shown. */
  visit: text(),
  /** More profiles than the latest. */
  all_profiles: flag(),
});
export const CAMPAIGNS = page('/campaigns', { ...CHARTS, campaign: text() });
export const SYMBOLS = page('/symbols', {
  /** Only binaries with unnamed samples, or all. */
  show: choice(['missing', 'all'], 'missing'),
  sort: choice(['cpu', 'samples', 'machines', 'name', 'seen'], 'cpu'),
  find: text(),
  /** Rows of the table; 0: as many as suit the window. */
  rows: integer(0, 0, 500),
  /** Key of the binary whose details are open; empty: none. */
  binary: text(),
});
export const STATUS = page('/status', {});
export const SETTINGS = page('/settings', {});

export type ExplorePlace = PlaceOf<typeof EXPLORE>;
export type SymbolsPlace = PlaceOf<typeof SYMBOLS>;
export type ComparePlace = PlaceOf<typeof COMPARE>;

/**
 * The address of a page: with the selection and the unit of `shown`, which may be another page's state, and with
 * the page's `own` parameters. `parts` fill the path's `:names` in order.
 */
export function linkTo<P extends Params>(
  to: PageOf<P>,
  shown: Partial<ValuesOf<typeof SHOWN>> = {},
  own: Partial<ValuesOf<P>> = {},
  ...parts: (string | number)[]
): string {
  const rest = [...parts];
  const path = to.path.replace(/:\w+/g, () => encodeURIComponent(String(rest.shift() ?? '')));
  const taken = Object.fromEntries(Object.entries(shown).filter(([name]) => Object.hasOwn(SHOWN, name)));
  return path + formatParams(to.params, { ...defaultsOf(to.params), ...taken, ...own });
}
