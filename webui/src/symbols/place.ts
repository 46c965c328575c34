/** The state of the symbols page, stored in the query string: a link shows another person the same thing. */

export const SHOWN = ['missing', 'all'] as const;
export const SORTS = ['cpu', 'samples', 'machines', 'name', 'seen'] as const;

export interface SymbolsPlace {
  /** Only binaries with unnamed samples, or all. */
  show: (typeof SHOWN)[number];
  sort: (typeof SORTS)[number];
  find: string;
  /** Key of the binary whose details are open; empty: none. */
  binary: string;
}

export const SYMBOLS_HOME: Readonly<SymbolsPlace> = {
  show: 'missing',
  sort: 'cpu',
  find: '',
  binary: '',
};
export const SYMBOLS_PATH = '/symbols';
/** The API rejects longer texts. */
const LONGEST_FIND = 200;
const LONGEST_KEY = 1024;

/** Unknown or invalid values are replaced by defaults. */
export function parseSymbolsPlace(query: string): SymbolsPlace {
  const given = new URLSearchParams(query);
  const choice = <T extends string>(name: string, allowed: readonly T[], otherwise: T): T =>
    allowed.find((a) => a === given.get(name)) ?? otherwise;
  return {
    show: choice('show', SHOWN, SYMBOLS_HOME.show),
    sort: choice('sort', SORTS, SYMBOLS_HOME.sort),
    find: (given.get('find') ?? '').slice(0, LONGEST_FIND),
    binary: (given.get('binary') ?? '').slice(0, LONGEST_KEY),
  };
}

/** The shortest query string that parses to this place; empty, or begins with `?`. */
export function formatSymbolsPlace(place: SymbolsPlace): string {
  const query = new URLSearchParams();
  for (const name of Object.keys(SYMBOLS_HOME) as (keyof SymbolsPlace)[]) {
    if (place[name] !== SYMBOLS_HOME[name]) query.set(name, place[name]);
  }
  const readable = query.toString().replace(/%3A/g, ':').replace(/%2F/g, '/');
  return readable === '' ? '' : `?${readable}`;
}

/** A link to all binaries with this text in their name, with or without unnamed samples. */
export function symbolsOf(binary: string): string {
  return (
    SYMBOLS_PATH + formatSymbolsPlace({ ...SYMBOLS_HOME, show: 'all', find: binary.slice(0, LONGEST_FIND) })
  );
}
