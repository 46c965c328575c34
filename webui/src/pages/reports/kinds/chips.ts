/** Fields and phrases that reports on neighbours on a chip share. */
import { count } from '../../../selection/numbers.ts';
import { write, GIGABYTES } from '../../../views/chart/quantity.ts';
import { argument, type Field, type Schemas } from '../report.ts';

export const target = (what: string): Field => ({
  name: 'target',
  label: 'Application',
  help: `${what} Empty: the one with most CPU time.`,
  initial: '',
  suggest: 'application',
  fallback: ({ application }) => application[0] ?? '',
  required: true,
  words: argument,
});

export const TRAINING: readonly Field[] = [
  {
    name: 'platform',
    advanced: true,
    label: 'Platform',
    help: 'Of the chips. Empty: the one with most profiles of the application.',
    initial: '',
    suggest: 'platform',
  },
  {
    name: 'peak_gbs',
    advanced: true,
    label: 'Memory’s peak (GB/s)',
    help: 'Of a chip. Empty: measured, or the largest observed.',
    initial: '',
  },
  {
    name: 'experiments',
    advanced: true,
    label: 'Experiments',
    help: 'Uploaded runs that train the model. Empty: the fleet’s profiles.',
    initial: '',
  },
];

export function trainedBy({
  trained_by,
  visits,
  runs,
  experiments,
  instead_of_visits,
}: Schemas['Source']): string[] {
  return [
    trained_by === 'visits'
      ? `Trained by ${count(visits)} profiles beside known neighbours.`
      : `Trained by ${count(runs)} runs of the experiments ${experiments ?? ''}.`,
    ...(instead_of_visits ? [`Not by profiles: ${instead_of_visits.detail}`] : []),
  ];
}

export function chipOf({ platform, lines, peak_gbs, peak_is_seen }: Schemas['Chip']): string[] {
  if (platform === '') return [];
  return [
    `Chips of ${platform}${lines === '' ? '' : `; cache lines by ${lines}`}${peak_gbs === null ? '' : `; the memory’s peak is ${write(peak_gbs, GIGABYTES)}, ${peak_is_seen ? 'the largest that a profile saw' : 'given or measured'}`}.`,
  ];
}

export const EXPERIMENTS = [
  {
    text: 'Or measure the application alone and beside others, and upload the runs:',
    command: 'fleetprof experiments add RUNS.csv',
  },
];
