import { describe, expect, it } from 'vitest';
import {
  colourOfFunction,
  DARK,
  groupOf,
  heaviestGroups,
  LIGHT,
  packageOf,
  type Palette,
} from '../../src/flame/colours.ts';
import { fn, tree } from './grow.ts';

describe('packageOf', () => {
  it.each([
    ['std::vector<int>::push_back(int)', 'std'],
    ['<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend', 'alloc'],
    ['net/http.(*conn).serve', 'net/http'],
    ['github.com/x/y/pkg.(*T).Method.func1', 'github.com/x/y/pkg'],
    ['runtime.mallocgc', 'runtime'],
    ['java.util.HashMap.get', 'java.util'],
    ['malloc', null],
    ['_PyEval_EvalFrameDefault.cold', null],
    ['gcm_ghash.constprop.0', null],
  ])('%s', (name, expected) => {
    expect(packageOf(name)).toBe(expected);
  });
});

describe('colours', () => {
  it('gives kernel frames and frames without a name their own', () => {
    expect(colourOfFunction(fn('vfs_read', { kind: 'kernel' }), LIGHT)).toBe(LIGHT.kernel);
    expect(colourOfFunction(fn('libfoo.so+0x12', { status: 'binary_only' }), LIGHT)).toBe(LIGHT.unnamed);
    expect(groupOf(fn('libfoo.so+0x12', { status: 'binary_only' }))).toBe('no symbols');
  });

  it('depends on the package or else the binary, not on the function', () => {
    const colour = (name: string, binary: string): string => colourOfFunction(fn(name, { binary }), LIGHT);
    expect(colour('malloc', 'libc.so.6')).toBe(colour('free', 'libc.so.6'));
    expect(colour('std::sort(int*)', 'a')).toBe(colour('std::find(int)', 'b'));
    expect(LIGHT.hues).toContain(colour('malloc', 'libc.so.6'));
  });

  it.each([
    ['light', LIGHT],
    ['dark', DARK],
  ] as const)('keeps labels readable in the %s theme', (_, palette: Palette) => {
    for (const paper of [...palette.hues, palette.kernel, palette.unnamed, palette.root, palette.match]) {
      expect(contrast(palette.ink, paper), `ink on ${paper}`).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast(palette.dimInk, palette.dim)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(palette.match, palette.dim)).toBeGreaterThanOrEqual(1.9);
  });
});

it('sums self time by group, heaviest first', () => {
  const t = tree(100, [
    [0, 'std::a()', 60],
    [1, 'std::b()', 50],
    [0, 'c', 30],
  ]);
  expect(heaviestGroups(t, 5).map((g) => [g.group, g.share])).toEqual([
    ['std', 0.6],
    ['app', 0.3],
  ]);
});

/** WCAG 2 contrast of two `#rrggbb` colours. */
function contrast(a: string, b: string): number {
  const luminance = (hex: string): number => {
    const [r, g, bl] = [1, 3, 5].map((k) => {
      const c = parseInt(hex.slice(k, k + 2), 16) / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}
