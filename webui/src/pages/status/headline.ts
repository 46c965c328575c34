/** The problems of the fleet, one sentence each; none if all is well. */
import type { StatusAnswer } from '../../api/types.ts';
import { count, percent, plural } from '../../selection/numbers.ts';
import { roughly } from '../../selection/time.ts';

/** Processing is behind if a profile waits longer, in seconds. */
const LATE_S = 300;
/** A share of the samples without names that is worth an upload. */
const UNNAMED = 0.01;
/** Failed profiles of the last hour: from this share on they are a problem. */
const FAILING = 0.1;

export function headlineOf(status: StatusAnswer): string[] {
  const { machines, campaigns, captures, visits, symbols } = status;
  const problems: string[] = [];
  if (machines.enabled === 0) problems.push('No machine is enabled.');
  for (const { name, state, why } of campaigns)
    if (state !== 'running' && name !== 'by-hand')
      problems.push(`The campaign ${name} is ${state}. ${why}`.trim());
  const ended = Object.entries(visits.last_hour).filter(([outcome]) => outcome !== 'drawn');
  const total = ended.reduce((sum, [, n]) => sum + n, 0);
  const failed = total - (visits.last_hour['answered'] ?? 0);
  if (total > 0 && failed >= FAILING * total)
    problems.push(`${count(failed)} of ${plural(total, 'profile')} of the last hour failed.`);
  if ((captures.oldest_waiting_s ?? 0) > LATE_S)
    problems.push(`Processing is behind: a profile waits for ${roughly(captures.oldest_waiting_s!)}.`);
  if (captures.quarantined > 0)
    problems.push(`${plural(captures.quarantined, 'profile')} failed too often and will not be processed.`);
  const [worst] = [...symbols.missing].sort((a, b) => b.share - a.share);
  if (worst !== undefined && worst.share >= UNNAMED)
    problems.push(`${percent(worst.share, 1)} of samples have code without names in ${worst.binary}.`);
  return problems;
}
