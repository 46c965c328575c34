/** A campaign's plan in words. */
import type { CampaignAnswer } from '../../api/types.ts';
import { count, plural, significant } from '../../selection/numbers.ts';
import { length } from '../../selection/time.ts';

type Event = CampaignAnswer['events'][number];

/** `cpu for 5 s at 99 Hz`. */
export function eventText({ event, duration_ms, rate_hz, period, stacks }: Event): string {
  const often =
    rate_hz > 0 ? ` at ${significantly(rate_hz)} Hz` : period > 0 ? `, every ${count(period)} events` : '';
  return `${event} for ${significantly(duration_ms / 1000)} s${often}${stacks ? '' : ', without stacks'}`;
}

/** Without zeros at the end: `99`, `0.5`. */
export function significantly(value: number): string {
  return String(Number(value.toPrecision(3)));
}

export function paceText({
  visits_per_round,
  period_s,
  visits_per_hour,
}: Pick<CampaignAnswer, 'visits_per_round' | 'period_s' | 'visits_per_hour'>): string {
  const round = `${significantly(visits_per_round)} ${visits_per_round === 1 ? 'profile' : 'profiles'} every ${length(period_s)}`;
  return `${round} (${significant(visits_per_hour)} an hour)`;
}

/** `0.0087 %`: a share that is far below one percent. */
export function smallShare(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}

export function machinesText({
  machines,
  strata,
  select_machines,
}: Pick<CampaignAnswer, 'machines' | 'strata' | 'select_machines'>): string {
  const labels = labelsText(select_machines);
  const which = labels === '' ? 'all enabled machines' : labels;
  return `${which}: ${plural(machines, 'machine')} in ${plural(strata, 'stratum', 'strata')}`;
}

export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

/** The labels in `kernel=6.18.1, rack=r1`; null if a part has no name or no `=`. */
export function labelsOf(text: string): Record<string, string> | null {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const labels: Record<string, string> = {};
  for (const part of parts) {
    const at = part.indexOf('=');
    if (at < 1) return null;
    labels[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return labels;
}
