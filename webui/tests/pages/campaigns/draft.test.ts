import { describe, expect, it } from 'vitest';
import { changeOf, mistakesIn, NEW } from '../../../src/pages/campaigns/draft.ts';
import { labelsOf } from '../../../src/pages/campaigns/words.ts';

describe('a change of a campaign', () => {
  const before = { ...NEW, name: 'fleet' };

  it('has only the members that differ', () => {
    expect(changeOf({ ...before, visits_per_round: '10' }, before)).toEqual({ visits_per_round: 10 });
    expect(changeOf({ ...before, failure_threshold: '20' }, before)).toEqual({ failure_threshold: 0.2 });
    expect(changeOf(before, before)).toEqual({});
  });

  it('replaces the events only for another event, without a rate if it does not count time', () => {
    expect(changeOf({ ...before, duration_s: '10' }, before)).toEqual({ duration_s: 10 });
    const { events, ...rest } = changeOf({ ...before, event: 'page-faults' }, before);
    expect(events).toMatchObject([{ event: 'page-faults', duration_ms: 5000, rate_hz: 0 }]);
    expect(rest).toEqual({});
  });

  it('is refused with what is wrong at each field', () => {
    expect(mistakesIn({ ...NEW, name: 'a b' }, null)).toHaveProperty('name');
    expect(Object.keys(mistakesIn({ ...before, period_s: '', select_machines: 'x' }, before))).toEqual([
      'period_s',
      'select_machines',
    ]);
    expect(mistakesIn(before, before)).toEqual({});
  });
});

describe('labels', () => {
  it('are pairs separated by commas', () => {
    expect(labelsOf('kernel=6.1, rack = r1')).toEqual({ kernel: '6.1', rack: 'r1' });
    expect(labelsOf('')).toEqual({});
    expect(labelsOf('=x')).toBeNull();
  });
});
