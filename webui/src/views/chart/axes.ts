/** Axes of charts: round ticks and linear positions. */

/** About `wanted` round numbers from `lo` to `hi`. */
export function ticksOf(lo: number, hi: number, wanted = 5): number[] {
  if (!(hi > lo)) return [lo];
  const rough = (hi - lo) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((m) => m * power >= rough) ?? 10);
  const ticks: number[] = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++)
    ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

/** The position of a value between `from` and `to` pixels; values outside are cut to the ends. */
export function linear(lo: number, hi: number, from: number, to: number): (value: number) => number {
  const span = hi > lo ? hi - lo : 1;
  return (value) => from + ((to - from) * (Math.min(Math.max(value, lo), hi) - lo)) / span;
}

/** The smallest range that contains all numbers; infinite ones are ignored. */
export function extent(values: Iterable<number | null | undefined>): [number, number] {
  let [lo, hi] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    lo = Math.min(lo, value);
    hi = Math.max(hi, value);
  }
  return lo <= hi ? [lo, hi] : [0, 1];
}

/** A text of at most `room` characters, cut in the middle: both ends tell names apart. */
export function fitted(text: string, room: number): string {
  if (text.length <= room) return text;
  const head = Math.ceil((room - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (room - 1 - head))}`;
}
