/** The paths of a line and its band in an SVG, with gaps where a step has no value. */
import { isBounded } from '../../estimates/interval.ts';
import type { Step } from './Sparkline.tsx';

export interface Scale {
  width: number;
  height: number;
  /** The value at the upper edge. */
  full: number;
}

export function lineOf(steps: readonly Step[], scale: Scale): string {
  let pen = 'M';
  return steps
    .map(({ estimate }, k) => {
      if (estimate === null) {
        pen = 'M';
        return '';
      }
      const at = `${pen}${x(k, steps.length, scale)},${y(estimate.value, scale)}`;
      // A step between two gaps is a dash.
      const alone = pen === 'M' && (steps[k + 1]?.estimate ?? null) === null;
      pen = 'L';
      return alone ? `${at}h1` : at;
    })
    .join('');
}

export function bandOf(steps: readonly Step[], scale: Scale): string {
  const runs: number[][] = [];
  steps.forEach(({ estimate }, k) => {
    if (estimate === null || !isBounded(estimate)) return;
    const run = runs.at(-1);
    if (run?.at(-1) === k - 1) run.push(k);
    else runs.push([k]);
  });
  const at = (k: number, value: number): string => `${x(k, steps.length, scale)},${y(value, scale)}`;
  return runs
    .filter((run) => run.length > 1)
    .map((run) => {
      const over = run.map((k) => at(k, steps[k].estimate!.hi!));
      const under = run.map((k) => at(k, steps[k].estimate!.lo!)).reverse();
      return `M${[...over, ...under].join('L')}Z`;
    })
    .join('');
}

function x(k: number, n: number, { width }: Scale): string {
  return ((width * k) / Math.max(1, n - 1)).toFixed(1);
}

function y(value: number, { height, full }: Scale): string {
  const inside = Math.min(Math.max(value, 0), full) / full;
  return (1 + (height - 2) * (1 - inside)).toFixed(1);
}
