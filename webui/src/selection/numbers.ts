/** Formats quantities. All numbers of a column have the same number of decimals. */

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function count(value: number): string {
  return WHOLE.format(value);
}

export function plural(n: number, noun: string, nouns = `${noun}s`): string {
  return `${count(n)} ${Math.round(n) === 1 ? noun : nouns}`;
}

/** `12.3 %`; a nonzero share that rounds to zero is `< 0.01 %`, never 0. */
export function percent(share: number, decimals = 2): string {
  const least = 0.5 * 10 ** -decimals;
  if (share > 0 && 100 * share < least) return `< ${(10 ** -decimals).toFixed(decimals)} %`;
  return `${(100 * share).toFixed(decimals)} %`;
}

/** Rounds down: 99.97 % of samples is not "100 %". */
export function coverage(share: number): string {
  if (share >= 1) return '100 %';
  return `${(Math.floor(share * 1000) / 10).toFixed(1)} %`;
}

/** A unit of amounts: `amount / per`, followed by `name`. */
export interface Scale {
  per: number;
  name: string;
}

/** The appropriate unit for this many seconds of CPU time. */
export function durationScale(seconds: number): Scale {
  if (seconds === 0) return { per: 1, name: 's' };
  if (seconds < 0.9995) return { per: 0.001, name: 'ms' };
  if (seconds < 120) return { per: 1, name: 's' };
  if (seconds < 7200) return { per: 60, name: 'min' };
  return { per: 3600, name: 'core-h' };
}

/** Core-seconds with three significant digits: `840 ms`, `12.4 s`, `3.2 min`, `5.1 core-h`. */
export function duration(seconds: number): string {
  const { per, name } = durationScale(seconds);
  return `${significant(seconds / per)} ${name}`;
}

/** Amounts of units other than time: `834`, `12.4 k`, `3.1 M`. */
export function quantity(value: number): string {
  if (value < 1000) return significant(value);
  if (value < 1e6) return `${significant(value / 1e3)} k`;
  if (value < 1e9) return `${significant(value / 1e6)} M`;
  return `${significant(value / 1e9)} G`;
}

/** Three digits, so that a column of amounts can be compared at a glance; whole numbers in full. */
export function significant(value: number): string {
  if (value === 0) return '0';
  if (value < 0) return `−${significant(-value)}`;
  if (value >= 99.95) return WHOLE.format(value);
  if (value >= 9.995) return value.toFixed(1);
  return value >= 1 ? value.toFixed(2) : value.toPrecision(3);
}
