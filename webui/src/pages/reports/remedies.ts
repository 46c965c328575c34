/** Commands that bring an input which an answer does not have. */
import type { Common } from './basis.ts';
import type { Remedy } from './report.ts';

const UNKNOWN_OVERLAP = /the overlap coefficient of (.+?) is unknown/;
const UNKNOWN_LATENCY = /the (?:memory )?latency of (.+?) is unknown/;
const NOT_SAMPLED = /^(\S+) was not sampled/;

export function remediesOf(answer: Common, campaign: string): Remedy[] {
  const reasons = (answer.left_out ?? []).map(({ why }) => why);
  return [
    ...calibration('overlap coefficient', 'fleetprof calibrate smt HOST', [
      ...platformsOf(reasons, UNKNOWN_OVERLAP),
      ...assumed(answer.coefficients),
    ]),
    ...calibration('memory latency', 'fleetprof calibrate memory HOST', [
      ...platformsOf(reasons, UNKNOWN_LATENCY),
      ...assumed(answer.latencies),
    ]),
    ...calibration(
      'memory bandwidth',
      'fleetprof calibrate memory HOST',
      answer.chip?.peak_is_seen && answer.chip.platform !== '' ? [answer.chip.platform] : [],
    ),
    ...reasons.flatMap((why) => {
      const event = NOT_SAMPLED.exec(why)?.[1];
      return event === undefined
        ? []
        : [
            {
              text: `Sample ${event} beside cpu:`,
              command: `fleetprof campaigns set ${campaign} --event cpu --event ${event}`,
            },
          ];
    }),
    ...notCounted(answer, campaign),
  ];
}

function calibration(what: string, command: string, platforms: readonly string[]): Remedy[] {
  const different = [...new Set(platforms)];
  if (different.length === 0) return [];
  return [{ text: `Measure the ${what} on a quiet machine (HOST) of ${different.join(', of ')}:`, command }];
}

function platformsOf(reasons: readonly string[], pattern: RegExp): string[] {
  return reasons.flatMap((why) => pattern.exec(why)?.[1] ?? []);
}

function assumed(coefficients: Common['coefficients']): string[] {
  return (coefficients ?? []).filter((c) => !c.measured).map((c) => c.platform);
}

/** Counters that the campaign could count, only if they keep the model from an answer. */
function notCounted({ because, inputs }: Common, campaign: string): Remedy[] {
  if (!because) return [];
  const names = [
    ...new Set((inputs?.missing ?? []).filter((m) => m.status === 'not_counted').map((m) => m.name)),
  ];
  if (names.length === 0) return [];
  return [
    {
      text: `Count ${names.join(', ')}:`,
      command: `fleetprof campaigns set ${campaign} ${names.map((name) => `--counter ${name}`).join(' ')}`,
    },
  ];
}
