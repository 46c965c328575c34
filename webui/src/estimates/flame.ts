/** Frames of the flame graph as estimates: their shares are of the selection, as in the table. */
import type { FlameTree } from '../flame/tree.ts';
import { duration, quantity } from '../selection/numbers.ts';
import { wilson, type Estimate } from './interval.ts';
import { measured, phrase, type Ground, type Measure } from './measure.ts';

/** The scale of the tree's weights. */
export interface FrameScale {
  /** Weight of the whole selection; focus and ignore may have removed a part of it from the tree. */
  whole: number;
  measure: Measure;
  ground: Ground;
  /** For events not counted in time. */
  unit: string;
}

/** `kept`: the share of the selection that is in the tree. */
export function frameScale(
  tree: FlameTree,
  kept: number,
  unit: string,
  measure: Measure,
  ground: Ground,
): FrameScale {
  return { whole: kept > 0 ? tree.total[0] / kept : tree.total[0], measure, ground, unit };
}

export function shareOf(weight: number, scale: FrameScale): number {
  return scale.whole > 0 ? weight / scale.whole : 0;
}

/** The frame's share with Wilson's interval, with its function's design effect. */
export function frameShare(tree: FlameTree, node: number, weight: number, scale: FrameScale): Estimate {
  const k = tree.func[node];
  const effective = k < 0 || !scale.ground.random ? null : tree.functions[k].effective;
  return wilson(shareOf(weight, scale), effective);
}

/** The weight in the chosen measure; if that is the share, in the unit of the weights. */
export function frameAmount(weight: number, scale: FrameScale): string {
  const { measure, ground, unit } = scale;
  if (measure !== 'share' && measure !== 'samples') {
    const bare = (value: number): Estimate => ({ value, lo: null, hi: null });
    const coreSeconds = ground.random && ground.timed ? bare(weight) : null;
    const amount = { share: bare(shareOf(weight, scale)), coreSeconds, seconds: null, samples: null };
    const estimate = measured(amount, measure, ground);
    if (estimate !== null) return phrase(measure, estimate.value);
  }
  return ground.timed ? duration(weight) : `${quantity(weight)} ${unit}`;
}
