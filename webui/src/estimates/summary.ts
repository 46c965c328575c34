/** The data behind a response, and its limits, in words. */
import type { Totals } from '../api/types.ts';
import { count, plural, quantity, significant } from '../selection/numbers.ts';
import { length } from '../selection/time.ts';
import { estimable, phrase, tooFewProfiles } from './measure.ts';
import { bracket } from './words.ts';

export interface Remark {
  text: string;
  /** The reason, or the meaning. */
  why: string;
  /** It limits the meaning of the numbers. */
  warn: boolean;
}

export interface Summary {
  /** `≈ 1,234 cores`; empty if the profiles allow no estimate for the fleet. */
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
  if (!estimable(totals))
    return { estimate: '', interval: '', frame: `Within ${asked}`, remarks: [tooFew, ...designed(totals)] };
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

const tooFew: Remark = {
  text: 'not enough profiles yet',
  why: 'Estimates for the fleet and their intervals need at least 3 profiles. The page shows what was observed.',
  warn: true,
};

/**
 * Upper bound for a selection with zero observed samples: `None of 226 profiles has such samples:
 * at most 12.0 cores (95 %).` Empty if the profiles allow no bound.
 */
export function boundOf(totals: Totals, unit: string): string {
  const { cores, estimate, visits_ingested: ingested } = totals;
  if (totals.samples > 0 || ingested === 0 || tooFewProfiles(totals)) return '';
  const most =
    cores !== null
      ? phrase('cores', Math.max(cores.hi, 0.001))
      : estimate !== null
        ? `${quantity(estimate.hi)} ${unit}`
        : null;
  if (most === null) return '';
  return `None of ${plural(ingested, 'profile')} has such samples: at most ${most} (95 %).`;
}

/** The remarks that limit the meaning of the numbers. */
export function limitsOf(totals: Totals, unit: string): Remark[] {
  return summaryOf(totals, unit).remarks.filter((remark) => remark.warn);
}

function designed(totals: Totals): Remark[] {
  const remarks: Remark[] = [
    {
      text: `${plural(totals.visits_drawn, 'profile')} planned, ${count(totals.visits_ingested)} ${totals.approximate ? 'read' : 'received'}`,
      why: 'Machines were drawn at random. The weights of similarly busy machines compensate for machines that did not respond.',
      warn: false,
    },
  ];
  if (totals.visits_waiting > 0) {
    remarks.push({
      text: `${count(totals.visits_waiting)} being processed`,
      why: 'These profiles are being collected or processed. Until then the others of the same day represent them.',
      warn: false,
    });
  }
  const covered = totals.selected_seconds > 0 ? totals.covered_seconds / totals.selected_seconds : 1;
  remarks.push({
    text: covered >= 0.9995 ? 'data for the whole range' : `no data for ${missing(covered)} of this range`,
    why: 'Sampling was off in that time. Estimates do not extrapolate over it.',
    warn: covered < WELL_COVERED,
  });
  if (totals.uncovered_share > NEGLIGIBLE) {
    remarks.push({
      text: `${(100 * totals.uncovered_share).toFixed(1)} % of machine-time without a profile`,
      why: 'These days have no processed profile, so estimates exclude them.',
      warn: true,
    });
  }
  return remarks;
}

/** `55 %`: rounded up to a percent, never 0 or 100. */
function missing(covered: number): string {
  return `${Math.min(99, Math.max(1, Math.round(100 * (1 - covered))))} %`;
}

function byHand(totals: Totals): Remark {
  const seen = totals.visits === null ? 'profiles ' : `${plural(totals.visits, 'profile')} `;
  return {
    text: `${seen}requested by hand, not drawn at random`,
    why: 'Shares refer to these samples. They do not estimate other machines or times, so they have no intervals.',
    warn: true,
  };
}

function path(totals: Totals): Remark {
  if (totals.approximate) {
    return {
      text: 'from a random part of the profiles',
      why: 'Reading all profiles would take too long. Estimates and intervals account for this; sample counts are those of the profiles read.',
      warn: true,
    };
  }
  return { ...PATHS[totals.path], warn: false };
}
