/**
 * Query parameters of a page, typed: a page declares them once, and its state is parsed from the URL and
 * written back. Defaults are omitted from URLs; unknown and invalid values become defaults.
 */

/** People do not type longer texts; the server rejects them too. */
const MAX_LENGTH = 4096;

export interface Param<T> {
  readonly initial: T;
  /** undefined if the text is not a value of this parameter. */
  parse(text: string): T | undefined;
  format(value: T): string;
}

export type Params = Readonly<Record<string, Param<any>>>;
export type ValuesOf<P extends Params> = {
  -readonly [K in keyof P]: P[K] extends Param<infer T> ? T : never;
};

export function text(initial = ''): Param<string> {
  return { initial, parse: (given) => given.slice(0, MAX_LENGTH) || initial, format: (value) => value };
}

export function choice<const T extends string>(allowed: readonly T[], initial: T): Param<T> {
  return { initial, parse: (given) => allowed.find((a) => a === given), format: (value) => value };
}

export function flag(): Param<boolean> {
  return { initial: false, parse: (given) => given === '1', format: () => '1' };
}

/** A whole number in a range; empty text and numbers outside are invalid. */
export function integer(initial: number, least: number, most: number): Param<number> {
  return {
    initial,
    parse: (given) => {
      const value = Number(given);
      return given !== '' && Number.isInteger(value) && value >= least && value <= most ? value : undefined;
    },
    format: String,
  };
}

export function defaultsOf<P extends Params>(params: P): ValuesOf<P> {
  return Object.fromEntries(
    Object.entries(params).map(([name, { initial }]) => [name, initial]),
  ) as ValuesOf<P>;
}

export function parseParams<P extends Params>(params: P, query: string): ValuesOf<P> {
  const given = new URLSearchParams(query);
  return Object.fromEntries(
    Object.entries(params).map(([name, param]) => {
      const value = given.get(name);
      return [name, value === null ? param.initial : (param.parse(value) ?? param.initial)];
    }),
  ) as ValuesOf<P>;
}

/** The shortest query string that parses to these values: empty, or begins with `?`. */
export function formatParams<P extends Params>(params: P, values: ValuesOf<P>): string {
  const query = new URLSearchParams();
  for (const [name, param] of Object.entries(params)) {
    const value = values[name];
    if (value !== undefined && value !== param.initial) query.set(name, param.format(value));
  }
  return readable(query);
}

/** The query string with the characters readable that URLSearchParams escapes without need. */
export function readable(query: URLSearchParams): string {
  const plain = query
    .toString()
    .replace(/%3A/g, ':')
    .replace(/%2C/g, ',')
    .replace(/%7E/g, '~')
    .replace(/%2F/g, '/');
  return plain === '' ? '' : `?${plain}`;
}
