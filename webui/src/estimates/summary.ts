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
    text: 'from merged cells',
    why: 'Read from what was added up ahead; the same numbers as from every sample.',
  },
  chunks: { text: 'from every sample', why: 'No cells are kept for such filters: all samples were read.' },
  mixed: {
    text: 'from merged cells and samples',
    why: 'Read from what was added up ahead, and the newest samples themselves.',
  },
};

/** If covered time is below this share of the requested time, the page shows a warning. */
const WELL_COVERED = 0.9;
/** Share of machine-time without visits below which the page does not mention it. */
const NEGLIGIBLE = 0.005;

/** `unit` is the event's, for events not counted in time. */
export function summaryOf(totals: Totals, unit: string): Summary {
  const asked = length(totals.asked_seconds);
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
 * Upper bound for a selection with zero observed samples: `None of 226 ingested visits saw any of it:
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
  const who =
    ingested === 1
      ? 'The only ingested visit saw none of it'
      : `None of ${count(ingested)} ingested visits saw any of it`;
  return `${who}: at most ${most} (95 %).`;
}

/** The remarks that limit the meaning of the numbers. */
export function limitsOf(totals: Totals, unit: string): Remark[] {
  return summaryOf(totals, unit).remarks.filter((remark) => remark.warn);
}

function designed(totals: Totals): Remark[] {
  const remarks: Remark[] = [
    {
      text: `${plural(totals.visits_drawn, 'visit')} drawn, ${count(totals.visits_ingested)} ${totals.approximate ? 'read' : 'ingested'}`,
      why: 'Machines were drawn at random. Those that did not answer are made up for by others as busy as they.',
      warn: false,
    },
  ];
  if (totals.visits_waiting > 0) {
    remarks.push({
      text: `${count(totals.visits_waiting)} of them waiting`,
      why: 'They are under way, or not ingested yet. Those that ingested on the same day stand for them until then.',
      warn: false,
    });
  }
  const covered = totals.asked_seconds > 0 ? totals.covered_seconds / totals.asked_seconds : 1;
  remarks.push({
    text:
      covered >= 0.9995 ? 'all of the asked time covered' : `${coverage(covered)} of the asked time covered`,
    why: 'Time in which the campaign drew nobody is not extrapolated over.',
    warn: covered < WELL_COVERED,
  });
  if (totals.uncovered_share > NEGLIGIBLE) {
    remarks.push({
      text: `${(100 * totals.uncovered_share).toFixed(1)} % of machine-time without a visit`,
      why: 'On these days no visit has been ingested: nothing is said of them.',
      warn: true,
    });
  }
  return remarks;
}

function byHand(totals: Totals): Remark {
  const seen = totals.visits === null ? 'visits ' : `${plural(totals.visits, 'visit')} `;
  return {
    text: `${seen}asked for by hand, not drawn at random`,
    why: 'Shares are of what was sampled. Nothing follows for other machines or times, so there are no intervals.',
    warn: true,
  };
}

function path(totals: Totals): Remark {
  if (totals.approximate) {
    return {
      text: 'from a random part of the visits',
      why: 'Reading all of them would take too long. Estimates and intervals account for it; samples are those read.',
      warn: true,
    };
  }
  return { ...PATHS[totals.path], warn: false };
}
