/** The measures of amounts: all measures of one row are the same estimate in different units. */
import type { TableRow, Totals } from '../api/types.ts';
import { count, duration, durationScale, percent, quantity, significant } from '../selection/numbers.ts';
import { isOnFrames, parseMatchers } from '../selection/matchers.ts';
import { exact, times, type Estimate } from './interval.ts';

export const MEASURES = ['share', 'samples', 'core-seconds', 'cores', 'machines', 'money'] as const;
export type Measure = (typeof MEASURES)[number];

export const MEASURE_NAMES: Readonly<Record<Measure, string>> = {
  share: 'share',
  samples: 'samples',
  'core-seconds': 'core-hours',
  cores: 'cores',
  machines: 'machines (equivalent)',
  money: 'cost',
};

export const MEASURE_MEANINGS: Readonly<Record<Measure, string>> = {
  share: 'share of the selection’s CPU time',
  samples: 'number of samples: counted, not estimated',
  'core-seconds': 'CPU time of the whole fleet in the part of the range with data',
  cores: 'busy cores, averaged over the part of the range with data',
  machines: 'share × machines of the fleet: how many machines would do only this',
  money: 'core-hours × the mean price of the selection’s core-hours by platform',
};

/** Fewer profiles have no interval that means anything: the page shows what was observed. */
const FEWEST_PROFILES = 3;

/** Whether the profiles allow estimates for the fleet. */
export function estimable(totals: Pick<Totals, 'design' | 'visits_ingested'>): boolean {
  return totals.design === 'random' && totals.visits_ingested >= FEWEST_PROFILES;
}

/** Whether only the number of profiles prevents estimates. */
export function tooFewProfiles(totals: Pick<Totals, 'design' | 'visits_ingested'>): boolean {
  return totals.design === 'random' && totals.visits_ingested < FEWEST_PROFILES;
}

/** Converts a row's shares and core-seconds to the other measures; the same for all rows of a response. */
export interface Ground {
  /**
   * Machines of the campaign. 0 if no profiles were drawn, and if label matchers restrict the shares to a part
   * of the fleet, whose number of machines is not known.
   */
  population: number;
  /** Seconds that core-seconds refer to: the covered seconds of days with ingested visits. */
  estimated: number;
  /** Mean price of the selection's core-hours. */
  price: number | null;
  /** Prices of rows that are platforms; null: a platform without a price. */
  platforms?: ReadonlyMap<string, number | null>;
  /** The event is counted in time. */
  timed: boolean;
  /** Enough profiles were drawn at random, so there are estimates for the fleet, with intervals. */
  random: boolean;
}

/** `select`: the matchers of the response. Matchers on frames do not change the denominator of shares. */
export function groundOf(
  totals: Totals,
  select: string,
  price: number | null,
  platforms?: Ground['platforms'],
): Ground {
  return {
    ...(platforms && { platforms }),
    population: parseMatchers(select)?.every(isOnFrames) ? totals.population : 0,
    estimated: totals.estimated_seconds,
    price,
    timed: totals.seconds !== null,
    random: estimable(totals),
  };
}

/** The measures that this response supports; `share` always. */
export function offered(ground: Ground): Measure[] {
  const fleet = ground.random && ground.timed && ground.estimated > 0;
  const possible: Record<Measure, boolean> = {
    share: true,
    samples: true,
    'core-seconds': ground.timed,
    cores: fleet,
    machines: ground.random && ground.population > 0,
    money: fleet && ground.price !== null,
  };
  return MEASURES.filter((measure) => possible[measure]);
}

/** One column of a row. */
export interface Amount {
  share: Estimate;
  /** Estimate for the fleet; null without a random design, or for events not counted in time. */
  coreSeconds: Estimate | null;
  /** Sampled: seconds are null for events not counted in time, samples if only units are known. */
  seconds: number | null;
  samples: number | null;
  /** The platform that all of it is on, if it is a part of the row's key. */
  platform?: string;
}

export function amountOf(row: TableRow, column: 'self' | 'total'): Amount {
  const on = row.key['platform'] === undefined ? {} : { platform: row.key['platform'] };
  return column === 'self'
    ? {
        ...on,
        share: { value: row.self_share, lo: row.self_lo, hi: row.self_hi },
        coreSeconds: row.self_core_seconds,
        seconds: row.self_seconds,
        samples: row.self_samples,
      }
    : {
        ...on,
        share: { value: row.total_share, lo: row.total_lo, hi: row.total_hi },
        coreSeconds: row.total_core_seconds,
        seconds: row.total_seconds,
        samples: row.total_samples,
      };
}

/** null if the response does not contain it. */
export function measured(amount: Amount, measure: Measure, ground: Ground): Estimate | null {
  const share = ground.random ? amount.share : exact(amount.share.value);
  const coreSeconds = ground.random ? amount.coreSeconds : null;
  switch (measure) {
    case 'share':
      return share;
    case 'samples':
      return exact(amount.samples);
    case 'core-seconds':
      return coreSeconds ?? exact(amount.seconds);
    case 'cores':
      return coreSeconds && ground.estimated > 0 ? times(coreSeconds, 1 / ground.estimated) : null;
    case 'machines':
      return ground.random && ground.population > 0 ? times(share, ground.population) : null;
    case 'money': {
      const price = priceOf(amount, ground);
      return coreSeconds && price !== null ? times(coreSeconds, price / 3600) : null;
    }
  }
}

function priceOf({ platform }: Amount, { price, platforms }: Ground): number | null {
  const own = platform === undefined ? undefined : platforms?.get(platform);
  return own === undefined ? price : own;
}

/** `12.34 %`, `5.1 core-h`, `1,234`. */
export function write(measure: Measure, value: number): string {
  switch (measure) {
    case 'share':
      return percent(value);
    case 'samples':
      return value < 100_000 ? count(value) : quantity(value);
    case 'core-seconds':
      return duration(value);
    case 'money':
      return value === 0
        ? '0'
        : value < 0.005
          ? '< 0.01'
          : value < 1000
            ? value.toFixed(2)
            : significant(value);
    default:
      return value > 0 && value < 0.001 ? '< 0.001' : significant(value);
  }
}

/**
 * Both ends in the unit that `value` is written in: `11.00–13.70` with the unit ` %`, `4.90–5.31` with ` core-h`.
 * For a value of zero the unit is that of the upper end.
 */
export function writeRange(
  measure: Measure,
  value: number,
  lo: number,
  hi: number,
  joint = '–',
): { text: string; unit: string } {
  const leading = value === 0 ? hi : value;
  switch (measure) {
    case 'share':
      return { text: `${(100 * lo).toFixed(2)}${joint}${(100 * hi).toFixed(2)}`, unit: ' %' };
    case 'core-seconds': {
      const { per, name } = durationScale(leading);
      return { text: `${significant(lo / per)}${joint}${significant(hi / per)}`, unit: ` ${name}` };
    }
    default: {
      // Beside "< 0.01" a bound would be read as another bound.
      const end = (v: number): string => write(measure, v).replace(/^< 0.*/, '0');
      return { text: `${end(lo)}${joint}${end(hi)}`, unit: '' };
    }
  }
}

/** A value with its noun, for use in a sentence: `5.10 core-h`, `40.0 s of CPU time`, `12.3 cores`. */
export function phrase(measure: Measure, value: number): string {
  const text = write(measure, value);
  return {
    share: text,
    samples: `${text} samples`,
    'core-seconds': text.endsWith('core-h') ? text : `${text} of CPU time`,
    cores: `${text} cores`,
    machines: `${text} machines (equivalent)`,
    money: `a cost of ${text}`,
  }[measure];
}
