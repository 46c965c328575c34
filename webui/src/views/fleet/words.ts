/** Words for the states of machines, profiles and campaigns. */
import type { CampaignAnswer, MachineRow, VisitRow } from '../../api/types.ts';
import { count } from '../../selection/numbers.ts';

export type Tone = 'good' | 'bad' | 'warn' | 'quiet';
interface Word {
  text: string;
  tone: Tone;
  title: string;
}

export const MACHINE_STATES: Readonly<Record<MachineRow['state'], Word>> = {
  ok: { text: 'OK', tone: 'good', title: 'its last profile was received' },
  failing: { text: 'failing', tone: 'bad', title: 'its last profile failed' },
  never_visited: { text: 'no profile yet', tone: 'quiet', title: 'no profile of it has ended' },
  disabled: { text: 'disabled', tone: 'warn', title: 'no round selects it' },
};

export const OUTCOMES: Readonly<Record<VisitRow['outcome'], Word>> = {
  drawn: { text: 'not finished', tone: 'quiet', title: 'planned or running' },
  answered: { text: 'received', tone: 'good', title: 'the gateway returned a profile' },
  unreachable: { text: 'unreachable', tone: 'bad', title: 'the gateway could not be reached' },
  refused: { text: 'refused', tone: 'bad', title: 'the gateway refused the request' },
  timeout: { text: 'timed out', tone: 'bad', title: 'the gateway did not answer in time' },
  garbage: { text: 'invalid answer', tone: 'bad', title: 'the answer of the gateway is not a profile' },
  failed: { text: 'failed', tone: 'bad', title: 'the gateway could not sample' },
  lost: { text: 'lost', tone: 'warn', title: 'the collector did not make or finish it' },
};

export const INGESTIONS: Readonly<Record<NonNullable<VisitRow['ingestion']>, Word>> = {
  waiting: { text: 'waiting', tone: 'quiet', title: 'waits for a worker' },
  ingested: { text: 'processed', tone: 'good', title: 'in all results' },
  quarantined: { text: 'quarantined', tone: 'bad', title: 'processing failed too often' },
  expired: { text: 'expired', tone: 'warn', title: 'its day was removed before it was processed' },
};

export const CAMPAIGN_STATES: Readonly<Record<CampaignAnswer['state'], Word>> = {
  running: { text: 'running', tone: 'good', title: 'rounds are planned' },
  paused: { text: 'paused', tone: 'warn', title: 'an operator stopped it' },
  stopped: { text: 'stopped', tone: 'bad', title: 'it stopped itself' },
};

/** The word of an outcome that this version may not know. */
export function outcomeOf(name: string): Word {
  return (OUTCOMES as Record<string, Word>)[name] ?? { text: name, tone: 'quiet', title: name };
}

/** `58 received, 2 unreachable`, the most frequent first; empty without profiles. */
export function outcomesText(outcomes: Readonly<Record<string, number>>): string {
  return Object.entries(outcomes)
    .filter(([, n]) => n > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, n]) => `${count(n)} ${outcomeOf(name).text}`)
    .join(', ');
}

/** `4.0 GiB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.5 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}
