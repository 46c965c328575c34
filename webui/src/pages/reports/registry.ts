/** All reports, in the order of the index. */
import { AFFINITY } from './kinds/affinity.ts';
import { APU } from './kinds/apu.ts';
import { CAPACITY } from './kinds/capacity.ts';
import { COMPOSITION } from './kinds/composition.ts';
import { CROSS_CHECK } from './kinds/cross-check.ts';
import { EVENTS } from './kinds/events.ts';
import { FEATURE } from './kinds/feature.ts';
import { FREQUENCY } from './kinds/frequency.ts';
import { FREQUENCY_FIT } from './kinds/frequency-fit.ts';
import { FREQUENCY_TIMES } from './kinds/frequency-times.ts';
import { INTERFERENCE } from './kinds/interference.ts';
import { LOAD_TEST } from './kinds/load-test.ts';
import { MACHINE_TYPES } from './kinds/machine-types.ts';
import { PLACEMENT } from './kinds/placement.ts';
import { RATIOS } from './kinds/ratios.ts';
import { SIDE_BY_SIDE } from './kinds/side-by-side.ts';
import { STABILITY } from './kinds/stability.ts';
import type { AnyReport } from './report.ts';

export const REPORT_LIST: readonly AnyReport[] = [
  APU,
  CAPACITY,
  MACHINE_TYPES,
  FREQUENCY,
  FREQUENCY_FIT,
  FREQUENCY_TIMES,
  RATIOS,
  SIDE_BY_SIDE,
  AFFINITY,
  FEATURE,
  INTERFERENCE,
  PLACEMENT,
  EVENTS,
  COMPOSITION,
  LOAD_TEST,
  STABILITY,
  CROSS_CHECK,
];

export const REPORT_OF: ReadonlyMap<string, AnyReport> = new Map(
  REPORT_LIST.map((report) => [report.kind, report]),
);
