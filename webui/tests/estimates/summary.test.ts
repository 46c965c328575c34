import { describe, expect, it } from 'vitest';
import { boundOf, limitsOf, summaryOf } from '../../src/estimates/summary.ts';
import { totals } from './totals.ts';

const texts = (more: Parameters<typeof totals>[0]): string[] =>
  summaryOf(totals(more), 'nanoseconds').remarks.map((r) => r.text);
const warnings = (more: Parameters<typeof totals>[0]): string[] =>
  summaryOf(totals(more), 'nanoseconds').remarks.flatMap((r) => (r.warn ? [r.text] : []));

describe('the summary', () => {
  it('says how much, how sure, and what stands behind it', () => {
    const { estimate, interval, frame } = summaryOf(totals(), 'nanoseconds');
    expect([estimate, interval, frame]).toEqual([
      '≈ 1,234 cores',
      '1,180–1,290',
      'over 6 h on 1,000 machines',
    ]);
    expect(texts({})).toEqual([
      '240 profiles planned, 226 received',
      'no data for 6 % of this range',
      'from rollups',
    ]);
    expect(warnings({})).toEqual([]);
  });

  it('counts in the unit of the event where that is not time', () => {
    const misses = { seconds: null, core_seconds: null, cores: null };
    const estimate = { value: 1.234e9, lo: 1.1e9, hi: 1.4e9 };
    const summary = summaryOf(totals({ ...misses, estimate }), 'misses');
    expect([summary.estimate, summary.interval]).toEqual(['≈ 1.23 G misses', '1.10 G–1.40 G']);
    expect(summaryOf(totals(misses), 'misses').estimate).toBe('');
  });

  it('says how many visits wait', () => {
    expect(texts({ visits_waiting: 14 })[1]).toBe('14 being processed');
    expect(warnings({ visits_waiting: 14 })).toEqual([]);
  });

  it('warns where the visits do not reach', () => {
    expect(warnings({ covered_seconds: 10_000, uncovered_share: 0.012 })).toEqual([
      'no data for 54 % of this range',
      '1.2 % of machine-time without a profile',
    ]);
    const part = { approximate: true, path: 'chunks' } as const;
    expect(warnings(part)).toEqual(['from a random part of the profiles']);
    expect(texts(part)[0]).toBe('240 profiles planned, 226 read');
    expect(limitsOf(totals(part), 'nanoseconds').map((r) => r.text)).toEqual(warnings(part));
    expect(texts({ covered_seconds: 21_600, path: 'mixed' })).toEqual([
      '240 profiles planned, 226 received',
      'data for the whole range',
      'from rollups and samples',
    ]);
  });

  it('claims nothing for the fleet of visits that were asked for', () => {
    const byHand = {
      design: 'none',
      path: 'chunks',
      visits: 1,
      core_seconds: null,
      cores: null,
    } as const;
    const { estimate, interval, frame } = summaryOf(totals(byHand), 'nanoseconds');
    expect([estimate, interval, frame]).toEqual(['', '', 'Within 6 h']);
    expect(texts(byHand)).toEqual(['1 profile requested by hand, not drawn at random', 'from all samples']);
    expect(warnings(byHand)).toHaveLength(1);
  });
});

describe('fewer than three profiles', () => {
  it('have no estimate and no interval', () => {
    const { estimate, interval, frame } = summaryOf(totals({ visits_ingested: 2 }), 'nanoseconds');
    expect([estimate, interval, frame]).toEqual(['', '', 'Within 6 h']);
    expect(warnings({ visits_ingested: 2 })).toEqual(['not enough profiles yet']);
    expect(summaryOf(totals({ visits_ingested: 3 }), 'nanoseconds').interval).toBe('1,180–1,290');
  });
});

describe('the bound of what nobody saw', () => {
  const unseen = { samples: 0, units: 0, seconds: 0, cores: { value: 0, lo: 0, hi: 12.04 } };
  const bound = (more: Parameters<typeof totals>[0] = {}): string =>
    boundOf(totals({ ...unseen, ...more }), 'misses');

  it('says who looked in vain, and how much there may be', () => {
    expect(bound()).toBe('None of 226 profiles has such samples: at most 12.0 cores (95 %).');
    expect(bound({ cores: { value: 0, lo: 0, hi: 0.00004 } })).toContain('at most 0.00100 cores');
  });

  it('is in the unit of the event where that is not time', () => {
    const misses = { seconds: null, cores: null, estimate: { value: 0, lo: 0, hi: 3.7e6 } };
    expect(bound(misses)).toContain('at most 3.70 M misses (95 %).');
  });

  it('says nothing where visits could not have seen it, or it was seen', () => {
    expect(bound({ cores: null })).toBe('');
    expect(bound({ visits_ingested: 0 })).toBe('');
    expect(bound({ visits_ingested: 2 })).toBe('');
    expect(bound({ samples: 1 })).toBe('');
  });
});
