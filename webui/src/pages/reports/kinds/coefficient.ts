/** The overlap coefficient, which reports on cores with two threads share. */
import type { Field, Remedy, Schemas, Used } from '../report.ts';

/** An overlap coefficient in the middle of what platforms have; the answer names it as assumed. */
const ASSUMED = '1.4';

export const COEFFICIENT: Field = {
  name: 'coefficient',
  label: 'Assumed overlap coefficient',
  help: 'For platforms without a measured one, 1 to 10. Empty: leave these platforms out.',
  initial: ASSUMED,
};

export function assumedOf(used: Used): string {
  const { coefficient } = used;
  return coefficient
    ? ` Platforms without a measured overlap coefficient are assumed to have ${coefficient}.`
    : '';
}

/** The answer lists measured coefficients only. */
export function calibration(
  { coefficients }: { coefficients: readonly Schemas['Coefficient'][] },
  used: Used,
): Remedy[] {
  if (!used['coefficient'] || coefficients.some((c) => c.measured)) return [];
  return [
    {
      text: 'No coefficient is measured. Measure it on a quiet machine (HOST) of each platform:',
      command: 'fleetprof calibrate smt HOST',
    },
  ];
}
