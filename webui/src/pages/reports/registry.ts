/** All reports, in the order of the index. */
import { CAPACITY_REPORTS } from './kinds/capacity.tsx';
import { FREQUENCY_REPORTS } from './kinds/frequency.tsx';
import { INTERFERENCE_REPORTS } from './kinds/interference.tsx';
import { PLATFORM_REPORTS } from './kinds/platforms.tsx';
import { QUALITY_REPORTS } from './kinds/quality.tsx';
import { RELEASE_REPORTS } from './kinds/releases.tsx';
import type { AnyReport } from './report.ts';

export const REPORT_LIST: readonly AnyReport[] = [
  ...CAPACITY_REPORTS,
  ...FREQUENCY_REPORTS,
  ...PLATFORM_REPORTS,
  ...INTERFERENCE_REPORTS,
  ...RELEASE_REPORTS,
  ...QUALITY_REPORTS,
];

export const REPORT_OF: ReadonlyMap<string, AnyReport> = new Map(
  REPORT_LIST.map((report) => [report.kind, report]),
);
