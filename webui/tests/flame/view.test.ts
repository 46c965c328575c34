import { describe, expect, it } from 'vitest';
import {
  deepestBelow,
  deepestDrawn,
  depthAt,
  hiddenBeyond,
  maxScroll,
  MIN_WIDTH,
  nodeAt,
  ROW_HEIGHT,
  rowTop,
  walk,
  type View,
} from '../../src/flame/view.ts';
import { plant, type FlameTree } from '../../src/flame/tree.ts';
import { columns, randomTree, tree } from './grow.ts';

interface Box {
  node: number;
  x: number;
  y: number;
  width: number;
  caller: boolean;
}

function drawn(t: FlameTree, view: View): { boxes: Box[]; slivers: number } {
  const boxes: Box[] = [];
  let slivers = 0;
  walk(t, view, {
    frame: (node, x, y, width, caller) => boxes.push({ node, x, y, width, caller }),
    sliver: () => slivers++,
  });
  return { boxes, slivers };
}

const WHOLE: View = { width: 1000, height: 600, zoom: 0, scroll: 0, upward: false };
const SMALL = tree(100, [
  [0, 'main', 60],
  [1, 'parse', 50],
  [0, 'idle', 30],
]);

describe('walk', () => {
  it('places frames in proportion, callees right of their elder siblings', () => {
    expect(drawn(SMALL, WHOLE).boxes.map((b) => [b.node, b.x, b.y, b.width])).toEqual([
      [0, 0, 0, 1000],
      [1, 0, ROW_HEIGHT, 600],
      [2, 0, 2 * ROW_HEIGHT, 500],
      [3, 600, ROW_HEIGHT, 300],
    ]);
  });

  it('stretches the zoomed frame and keeps its callers above it', () => {
    const { boxes } = drawn(SMALL, { ...WHOLE, zoom: 2 });
    expect(boxes.map((b) => [b.node, b.width, b.caller])).toEqual([
      [1, 1000, true],
      [0, 1000, true],
      [2, 1000, false],
    ]);
  });

  it('draws upward as the mirror of downward', () => {
    const down = drawn(SMALL, WHOLE).boxes;
    const up = drawn(SMALL, { ...WHOLE, upward: true }).boxes;
    up.forEach((b, k) => expect(b.y).toBe(WHOLE.height - ROW_HEIGHT - down[k].y));
  });

  it('joins what is too thin into one sliver and skips what is below', () => {
    const thin = tree(1_000_000, [
      [0, 'wide', 999_000],
      [0, 'thin', 500],
      [2, 'below', 500],
      [0, 'thinner', 400],
    ]);
    const { boxes, slivers } = drawn(thin, { ...WHOLE, width: 100 });
    expect(boxes.map((b) => b.node)).toEqual([0, 1]);
    expect(slivers).toBe(0); // 0.09 px together: not even a hair
    expect(drawn(thin, WHOLE).slivers).toBe(1);
  });

  it('shows what was cut off as a sliver below its caller', () => {
    const cut = columns(1000, [
      [0, 'main', 800],
      [1, 'parse', 300],
    ]);
    cut.self[1] -= 200; // main: parse 300, self 300, and 200 cut off
    const slivers: number[][] = [];
    walk(plant(cut), WHOLE, { frame: () => undefined, sliver: (...box) => slivers.push(box) });
    expect(slivers).toEqual([[300, 2 * ROW_HEIGHT, 200]]);
  });

  it('draws every frame that is wide enough and in sight, and no other', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const t = randomTree(seed, 600);
      const zoom = seed % t.n;
      const view: View = { width: 300, height: 100, zoom, scroll: (seed % 4) * 23, upward: seed % 2 === 0 };
      const scale = view.width / t.total[zoom];
      const inSight = (i: number): boolean => {
        const y = rowTop(view, t.depth[i]);
        return y > -ROW_HEIGHT && y < view.height;
      };
      const expected: number[] = [];
      const thick = (i: number): boolean =>
        i === zoom || (t.total[i] * scale >= MIN_WIDTH && thick(t.parent[i]));
      for (let i = zoom; i < t.end[zoom]; i++) if (thick(i) && inSight(i)) expected.push(i);
      const found = drawn(t, view).boxes.filter((b) => !b.caller && inSight(b.node));
      expect(found.map((b) => b.node)).toEqual(expected);
    }
  });

  it('does not depend on the size of what is not visible', () => {
    const t = randomTree(3, 50_000);
    let visits = 0;
    const counted = {
      ...t,
      depth: new Proxy(t.depth, {
        get: (d, k) => (typeof k === 'string' && /^\d+$/.test(k) && visits++, Reflect.get(d, k)),
      }),
    };
    drawn(counted, { ...WHOLE, width: 200, height: 60 });
    expect(visits).toBeLessThan(2000);
  });

  it('shows an empty selection as one full frame', () => {
    expect(drawn(tree(0, []), WHOLE).boxes).toEqual([{ node: 0, x: 0, y: 0, width: 1000, caller: false }]);
  });
});

describe('nodeAt', () => {
  it('finds exactly what walk drew there', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const t = randomTree(seed, 600);
      const view: View = {
        width: 400,
        height: 200,
        zoom: (7 * seed) % t.n,
        scroll: seed % 3 === 0 ? 31 : 0,
        upward: seed % 2 === 0,
      };
      for (const { node, x, y, width } of drawn(t, view).boxes) {
        if (y < 0 || y + ROW_HEIGHT > view.height) continue;
        expect(nodeAt(t, view, x + width / 2, y + ROW_HEIGHT / 2)).toBe(node);
      }
    }
  });

  it('finds nothing beside frames, below them, or outside the canvas', () => {
    expect(nodeAt(SMALL, WHOLE, 950, ROW_HEIGHT + 3)).toBe(-1);
    expect(nodeAt(SMALL, WHOLE, 100, 10 * ROW_HEIGHT)).toBe(-1);
    expect(nodeAt(SMALL, WHOLE, -1, 3)).toBe(-1);
    expect(nodeAt(SMALL, WHOLE, 3, WHOLE.height + 1)).toBe(-1);
  });
});

it('turns heights into depths and back', () => {
  for (const upward of [false, true]) {
    const view = { ...WHOLE, upward, scroll: 45 };
    for (let depth = 3; depth < 20; depth++) expect(depthAt(view, rowTop(view, depth) + 1)).toBe(depth);
  }
});

it('lets the deepest frame be scrolled to the edge, and no further', () => {
  expect(deepestBelow(SMALL, 0)).toBe(2);
  expect(deepestBelow(SMALL, 3)).toBe(1);
  expect(maxScroll({ ...WHOLE, height: 2 * ROW_HEIGHT }, 2)).toBe(ROW_HEIGHT);
  expect(maxScroll(WHOLE, 2)).toBe(0);
});

it('counts the rows that have anything to be seen', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const t = randomTree(seed, 600);
    const view: View = { width: 300, height: 10_000, zoom: seed % t.n, scroll: 0, upward: false };
    let lowest = 0;
    walk(t, view, {
      frame: (_, __, y) => (lowest = Math.max(lowest, y)),
      sliver: (_, y) => (lowest = Math.max(lowest, y)),
    });
    const seen = { ...view, height: 50, scroll: 19, upward: seed % 2 === 0 };
    expect(deepestDrawn(t, seen)).toBe(lowest / ROW_HEIGHT);
  }
  const thin = tree(1_000_000, [
    [0, 'wide', 999_900],
    [0, 'thin', 10],
    [2, 'below', 10],
  ]);
  expect(deepestBelow(thin, 0)).toBe(2);
  expect(deepestDrawn(thin, WHOLE)).toBe(1);
});

it('tells how many rows are beyond the edges', () => {
  const view = { ...WHOLE, height: 2 * ROW_HEIGHT };
  expect(hiddenBeyond(WHOLE, 2)).toEqual({ top: 0, bottom: 0 });
  expect(hiddenBeyond(view, 3)).toEqual({ top: 0, bottom: 2 });
  expect(hiddenBeyond({ ...view, upward: true }, 3)).toEqual({ top: 2, bottom: 0 });
  expect(hiddenBeyond({ ...view, scroll: 5 }, 3)).toEqual({ top: 1, bottom: 2 });
  expect(hiddenBeyond({ ...view, scroll: 2 * ROW_HEIGHT }, 3)).toEqual({ top: 2, bottom: 0 });
  // The canvas can show the deepest row beyond what is drawn there.
  expect(hiddenBeyond({ ...view, scroll: 4 * ROW_HEIGHT }, 3)).toEqual({ top: 4, bottom: 0 });
});
