/** What an answer rests on, from the members that the answers of all models share. */
import { count, percent, plural } from '../../selection/numbers.ts';
import { length } from '../../selection/time.ts';
import { figure, RATIO } from '../../views/chart/quantity.ts';
import type { Schemas } from './report.ts';

/** The members that answers have in common; each answer has some of them. */
export interface Common {
  because?: Schemas['Unavailable'] | null;
  inputs?: Schemas['Inputs'];
  left_out?: readonly Schemas['LeftOut'][];
  hardware_left_out?: readonly Schemas['LeftOut'][];
  limits?: readonly string[];
  coefficients?: readonly Schemas['Coefficient'][];
  latencies?: readonly Schemas['Coefficient'][];
  totals?: Schemas['Totals'];
  chip?: Schemas['Chip'];
  /** Of the intervals, if it is not 0.95. */
  interval_level?: number;
}

const STATUS: Readonly<Record<string, string>> = {
  unsupported: 'these machines cannot count it',
  denied: 'access was denied',
  busy: 'the hardware counters were in use',
  not_counted: 'the campaign does not count it',
};
/** Reasons of one kind that are listed. */
const MOST = 8;

export function basisOf(answer: Common): string[] {
  return [
    ...inputsOf(answer),
    ...(answer.coefficients ?? []).map((c) => coefficientOf(c, 'Overlap coefficient', '')),
    ...(answer.latencies ?? []).map((c) => coefficientOf(c, 'Latency of a miss', ' ns')),
    ...listOf(answer.left_out, 'left out'),
    ...listOf(answer.hardware_left_out, 'without a figure by cycle counters'),
    ...missingOf(answer.inputs),
    ...(answer.limits ?? []),
  ];
}

function inputsOf({ inputs, totals }: Common): string[] {
  if (inputs && inputs.visits > 0)
    return [
      `${count(inputs.used)} of ${plural(inputs.visits, 'profile')} (${percent(inputs.used / inputs.visits, 0)}) of ${plural(inputs.population, 'machine')}, from ${length(inputs.covered_seconds)} of collected time.`,
      ...(inputs.design === 'none'
        ? ['The profiles were not drawn at random, so there are no intervals for the fleet.']
        : []),
    ];
  if (totals)
    return [
      `${count(totals.samples)} samples${totals.visits === null ? '' : ` in ${plural(totals.visits, 'profile')}`}, from ${length(totals.covered_seconds)} of collected time.`,
    ];
  return [];
}

function coefficientOf(c: Schemas['Coefficient'], name: string, suffix: string): string {
  const where = c.workload === '' ? c.platform : `${c.workload} on ${c.platform}`;
  const value = figure(c, { digits: RATIO.digits, suffix });
  return `${name} of ${where}: ${value}, ${c.measured ? 'measured' : 'assumed by this request'}.`;
}

function listOf(reasons: readonly Schemas['LeftOut'][] | undefined, what: string): string[] {
  const all = reasons ?? [];
  const shown = all.slice(0, MOST).map(({ why, visits }) => `${plural(visits, 'profile')} ${what}: ${why}.`);
  return all.length > MOST ? [...shown, `${all.length - MOST} more reasons.`] : shown;
}

function missingOf(inputs: Schemas['Inputs'] | undefined): string[] {
  const byReason = new Map<string, { names: Set<string>; visits: number }>();
  for (const { name, status, platform, visits } of inputs?.missing ?? []) {
    const key = `on ${platform || 'an unknown platform'}: ${STATUS[status] ?? status}`;
    const entry = byReason.get(key) ?? { names: new Set(), visits: 0 };
    entry.names.add(name);
    entry.visits = Math.max(entry.visits, visits);
    byReason.set(key, entry);
  }
  return [...byReason]
    .slice(0, MOST)
    .map(
      ([key, { names, visits }]) =>
        `${[...names].join(', ')} missing in ${plural(visits, 'profile')} ${key}.`,
    );
}
