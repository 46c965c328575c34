import { expect, it } from 'vitest';
import { bandOf, lineOf } from '../../src/views/sparkline/path.ts';

const scale = { width: 100, height: 52, full: 1 };
const step = (value: number | null, lo: number | null = null, hi: number | null = null) => ({
  start: '',
  estimate: value === null ? null : { value, lo, hi },
});

it('draws a line with gaps, and a lonely step as a dash', () => {
  expect(lineOf([step(0), step(1)], scale)).toBe('M0.0,51.0L100.0,1.0');
  expect(lineOf([step(0), step(null), step(1)], scale)).toBe('M0.0,51.0h1M100.0,1.0h1');
});

it('draws the band of adjacent steps, cut at the upper edge', () => {
  expect(bandOf([step(0.5, 0, 1), step(0.5, 0.5, 9)], scale)).toBe('M0.0,1.0L100.0,1.0L100.0,26.0L0.0,51.0Z');
  expect(bandOf([step(0.5, 0, 1), step(null), step(0.5, 0, 1)], scale)).toBe('');
});
