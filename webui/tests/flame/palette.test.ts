import { describe, expect, it } from 'vitest';
import { HUES } from '../../src/flame/hues.ts';
import { DARK, LIGHT, type Palette } from '../../src/flame/palette.ts';
import { contrast, difference, lab, type Vision } from './vision.ts';

it('measures differences as published', () => {
  // Test data of Sharma, Wu and Dalal.
  expect(difference([50, 2.6772, -79.7751], [50, 0, -82.7485])).toBeCloseTo(2.0425, 4);
  expect(difference([50, 2.5, 0], [73, 25, -18])).toBeCloseTo(27.1492, 4);
  expect(difference([22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619])).toBeCloseTo(2.0373, 4);
  expect(difference([2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514])).toBeCloseTo(0.9082, 4);
});

describe.each([
  ['light', LIGHT],
  ['dark', DARK],
] as const)('the %s palette', (_, palette: Palette) => {
  const legend = [...palette.hues, palette.kernel, palette.unnamed];

  it.each([
    ['normal', 14],
    ['deuteranopia', 8.5],
    ['protanopia', 8.5],
  ] as const)('has legend colours that differ with %s vision', (vision: Vision, least) => {
    expect(palette.hues).toHaveLength(HUES);
    const seen = legend.map((colour) => lab(colour, vision));
    for (let i = 0; i < seen.length; i++)
      for (let j = i + 1; j < seen.length; j++)
        expect(difference(seen[i], seen[j]), `${legend[i]} and ${legend[j]}`).toBeGreaterThanOrEqual(least);
  });

  it('keeps labels readable', () => {
    for (const paper of [...legend, ...palette.heat, palette.root, palette.match])
      expect(contrast(palette.ink, paper), `ink on ${paper}`).toBeGreaterThanOrEqual(4.5);
    expect(contrast(palette.dimInk, palette.dim)).toBeGreaterThanOrEqual(4.5);
  });

  it('shows dimmed frames on the paper, and matches among them', () => {
    expect(contrast(palette.dim, palette.paper)).toBeGreaterThanOrEqual(1.45);
    expect(contrast(palette.dim, palette.paper)).toBeLessThanOrEqual(1.6);
    expect(contrast(palette.match, palette.dim)).toBeGreaterThanOrEqual(1.9);
  });

  it('has a scale in equal steps of lightness in one direction', () => {
    const lightness = palette.heat.map((colour) => lab(colour, 'normal')[0]);
    const steps = lightness.slice(1).map((l, k) => l - lightness[k]);
    expect(new Set(steps.map(Math.sign)).size).toBe(1);
    for (const step of steps) expect(Math.abs(step)).toBeGreaterThan(3);
  });
});
