import { describe, expect, it } from 'vitest';
import { containing, exactly } from '../../../src/pages/fn/address.ts';
import { latestRun } from '../../../src/pages/fn/latestRun.ts';
import type { SeriesAnswer } from '../../../src/views/series/series.ts';

const QUERY = { event: 'cpu', from: 'a', to: 'b', campaign: 'fleet' };
const FN = { name: 'f(int*)', binary: 'libz.so' };

describe('the selection of stacks that contain a function', () => {
  it('keeps the other filters, also those on functions', () => {
    expect(containing({ ...QUERY, select: '{application="web",function="main"}' }, FN, true).select).toBe(
      '{application="web",function="main",function="f(int*)"}',
    );
  });

  it('adds the binary to a name that several functions have', () => {
    expect(containing(QUERY, FN, false).select).toBe('{function="f(int*)",binary="libz.so"}');
  });

  it('leaves filters with a mistake to the server', () => {
    expect(containing({ ...QUERY, select: '{application=' }, FN, true).select).toBe('{application=');
  });

  it('has a pattern of the exact name', () => {
    expect(new RegExp(exactly(FN.name)).test(FN.name)).toBe(true);
    expect(new RegExp(exactly(FN.name)).test('xf(int*)')).toBe(false);
  });
});

describe('the latest time with samples', () => {
  const answer = (...units: number[]): SeriesAnswer =>
    ({
      lines: [{ role: 'whole', points: { units } }],
      steps: { start: units.map((_, k) => `s${k}`), end: units.map((_, k) => `e${k}`) },
    }) as unknown as SeriesAnswer;

  it('is the last run of steps', () => {
    expect(latestRun(answer(1, 0, 2, 3, 0))).toEqual({ from: 's2', to: 'e3' });
    expect(latestRun(answer(4, 4))).toEqual({ from: 's0', to: 'e1' });
    expect(latestRun(answer(0, 0))).toBeNull();
  });
});
