import { describe, expect, it } from 'vitest';
import { frameAmount, frameScale, frameShare } from '../../src/estimates/flame.ts';
import { wilson } from '../../src/estimates/interval.ts';
import { groundOf } from '../../src/estimates/measure.ts';
import { plant } from '../../src/flame/tree.ts';
import { columns } from '../flame/grow.ts';
import { totals } from './totals.ts';

const grown = columns(60, [
  [0, 'main', 60],
  [1, 'malloc', 15],
]);
grown.functions[1].effective = 400;
const tree = plant(grown);
const ground = groundOf(totals(), '{}', null);

describe('frames', () => {
  it('have shares of the selection, not of what focus left', () => {
    const scale = frameScale(tree, 0.6, 'nanoseconds', 'share', ground);
    expect(frameShare(tree, 2, tree.total[2], scale)).toEqual(wilson(0.15, 400));
  });

  it('have no interval where their function has no design effect', () => {
    const scale = frameScale(tree, 1, 'nanoseconds', 'share', ground);
    expect(frameShare(tree, 1, 60, scale)).toEqual({ value: 1, lo: null, hi: null });
    expect(frameShare(tree, 0, 60, scale).lo).toBeNull();
  });

  it('have amounts in the chosen measure', () => {
    const amount = (measure: Parameters<typeof frameScale>[3], unit = 'nanoseconds', on = ground): string =>
      frameAmount(15, frameScale(tree, 1, unit, measure, on));
    expect(amount('share')).toBe('15.0 s');
    expect(amount('machines')).toBe('250 machines (equivalent)');
    expect(amount('cores')).toBe('< 0.001 cores');
    expect(amount('money')).toBe('15.0 s'); // no price is set
    expect(amount('share', 'misses', groundOf(totals({ seconds: null }), '{}', null))).toBe('15.0 misses');
  });
});
