import { describe, expect, it } from 'vitest';
import { chosenVersion, versionName, type SourceVersion } from '../../../src/pages/source/versions.ts';
import { annotate, nextHot, stripesOf } from '../../../src/views/source/annotated.ts';

type Rows = Parameters<typeof annotate>[1];

function rows(...costs: [line: number, total: number][]): Rows {
  return costs.map(([line, total_share]) => ({ line, total_share, self_share: 0 })) as unknown as Rows;
}

describe('a source file with costs', () => {
  it('has the cost of each line, and the lines that are hot', () => {
    const source = annotate('a\r\nb\n\tc\nd\n', rows([2, 0.5], [3, 0.02], [4, 0.2]));
    expect(source.lines.map(({ number, text, cost }) => [number, text, cost?.total_share ?? null])).toEqual([
      [1, 'a', null],
      [2, 'b', 0.5],
      [3, '\tc', 0.02],
      [4, 'd', 0.2],
    ]);
    expect(source.most).toBe(0.5);
    expect(source.hot).toEqual([2, 4]);
  });

  it('steps through hot lines in both directions and around the ends', () => {
    const hot = { hot: [2, 4, 9] };
    expect([0, 2, 3, 9].map((line) => nextHot(hot, line, 1))).toEqual([2, 4, 4, 2]);
    expect([0, 2, 3, 9].map((line) => nextHot(hot, line, -1))).toEqual([9, 9, 2, 4]);
    expect(nextHot({ hot: [] }, 3, 1)).toBe(0);
  });

  it('keeps the heaviest of several functions on a line, and lines past the end', () => {
    const source = annotate('a\n', rows([1, 0.1], [1, 0.3], [3, 0.2], [0, 0.9]));
    expect(source.lines.map(({ cost }) => cost?.total_share ?? null)).toEqual([0.3, null, 0.2]);
  });

  it('has a strip of the hottest lines of each part', () => {
    const text = Array.from({ length: 100 }, () => 'x').join('\n');
    expect(stripesOf(annotate(text, rows([1, 0.1], [5, 0.4], [96, 0.2])), 10)).toEqual([
      { line: 5, at: 0, heat: 1 },
      { line: 96, at: 0.9, heat: 0.5 },
    ]);
  });
});

describe('the versions of a file', () => {
  const version = (sha256: string | null): SourceVersion => ({ sha256 }) as SourceVersion;
  const known = version('0123456789abcdef');

  it('are chosen by name, or the first with a text', () => {
    expect(versionName(known)).toBe('0123456789ab');
    expect(chosenVersion([version(null), known], '')).toBe(known);
    expect(chosenVersion([version(null), known], 'unknown')?.sha256).toBeNull();
    expect(chosenVersion([], '')).toBeNull();
  });
});
