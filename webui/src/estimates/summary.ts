/** The data behind a response, and its limits, in words. */
import type { Totals } from '../api/types.ts';
import { count, coverage, plural, quantity, significant } from '../selection/numbers.ts';
import { length } from '../selection/time.ts';
import { phrase } from './measure.ts';
import { bracket } from './words.ts';

export interface Remark {
  text: string;
  /** The reason, or the meaning. */
  why: string;
  /** It limits the meaning of the numbers. */
  warn: boolean;
}

export interface Summary {
  /** `≈ 1,234 cores`; empty if the visits allow no estimate for the fleet. */
  estimate: string;
  /** Its 95 % interval: `1,180–1,290`; empty if there is none. */
  interval: string;
  /** `over 6 h on 1,000 machines`. */
  frame: string;
  remarks: Remark[];
}

const PATHS: Readonly<Record<Totals['path'], Pick<Remark, 'text' | 'why'>>> = {
  cells: {
    text: 'from rollups',
    why: 'Computed from precomputed sums; the numbers are those of all samples.',
  },
  chunks: { text: 'from all samples', why: 'No rollup supports these filters, so all samples were read.' },
  mixed: {
    text: 'from rollups and samples',
    why: 'Computed from precomputed sums and the newest samples.',
  },
};

/** If covered time is below this share of the requested time, the page shows a warning. */
const WELL_COVERED = 0.9;
/** Share of machine-time without visits below which the page does not mention it. */
const NEGLIGIBLE = 0.005;

/** `unit` is the event's, for events not counted in time. */
export function summaryOf(totals: Totals, unit: string): Summary {
  const asked = length(totals.selected_seconds);
  if (totals.design !== 'random')
    return { estimate: '', interval: '', frame: `Within ${asked}`, remarks: [byHand(totals), path(totals)] };
  const { cores, estimate: level } = totals;
  return {
    estimate:
      cores !== null
        ? `≈ ${significant(cores.value)} cores`
        : level !== null
          ? `≈ ${quantity(level.value)} ${unit}`
          : '',
    interval: cores !== null ? bracket('cores', cores) : level !== null ? bracket('samples', level) : '',
    frame: `over ${asked} on ${plural(totals.population, 'machine')}`,
    remarks: [...designed(totals), path(totals)],
  };
}

/**
 * Upper bound for a selection with zero observed samples: `None of 226 ingested visits has such samples:
 * at most 12.0 cores (95 %).` Empty if the visits allow no bound.
 */
export function boundOf(totals: Totals, unit: string): string {
  const { cores, estimate, visits_ingested: ingested } = totals;
  if (totals.samples > 0 || ingested === 0) return '';
  const most =
    cores !== null
      ? phrase('cores', Math.max(cores.hi, 0.001))
      : estimate !== null
        ? `${quantity(estimate.hi)} ${unit}`
        : null;
  if (most === null) return '';
  const visits =
    ingested === 1
      ? 'The only ingested visit has no such samples'
      : `None of ${count(ingested)} ingested visits has such samples`;
  return `${visits}: at most ${most} (95 %).`;
}

/** The remarks that limit the meaning of the numbers. */
export function limitsOf(totals: Totals, unit: string): Remark[] {
  return summaryOf(totals, unit).remarks.filter((remark) => remark.warn);
}

function designed(totals: Totals): Remark[] {
  const remarks: Remark[] = [
    {
      text: `${plural(totals.visits_drawn, 'visit')} drawn, ${count(totals.visits_ingested)} ${totals.approximate ? 'read' : 'ingested'}`,
      why: 'Machines were drawn at random. The weights of similarly busy machines compensate for machines that did not respond.',
      warn: false,
    },
  ];
  if (totals.visits_waiting > 0) {
    remarks.push({
      text: `${count(totals.visits_waiting)} of them pending`,
      why: 'These visits are running or not ingested yet. Until then the ingested visits of the same day represent them.',
      warn: false,
    });
  }
  const covered = totals.selected_seconds > 0 ? totals.covered_seconds / totals.selected_seconds : 1;
  remarks.push({
    text: covered >= 0.9995 ? 'data for the whole range' : `data for ${coverage(covered)} of the range`,
    why: 'Estimates do not extrapolate over time in which the campaign drew no machines.',
    warn: covered < WELL_COVERED,
  });
  if (totals.uncovered_share > NEGLIGIBLE) {
    remarks.push({
      text: `${(100 * totals.uncovered_share).toFixed(1)} % of machine-time without a visit`,
      why: 'No visit of these days has been ingested, so estimates exclude them.',
      warn: true,
    });
  }
  return remarks;
}

function byHand(totals: Totals): Remark {
  const seen = totals.visits === null ? 'visits ' : `${plural(totals.visits, 'visit')} `;
  return {
    text: `${seen}requested by hand, not drawn at random`,
    why: 'Shares refer to these samples. They do not estimate other machines or times, so they have no intervals.',
    warn: true,
  };
}

function path(totals: Totals): Remark {
  if (totals.approximate) {
    return {
      text: 'from a random part of the visits',
      why: 'Reading all visits would take too long. Estimates and intervals account for this; sample counts are those of the visits read.',
      warn: true,
    };
  }
  return { ...PATHS[totals.path], warn: false };
}
