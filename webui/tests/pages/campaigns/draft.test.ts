import { describe, expect, it } from 'vitest';
import { changeOf, draftOf, mistakesIn, renamed } from '../../../src/pages/campaigns/draft.ts';
import { labelsOf } from '../../../src/pages/campaigns/words.ts';

const CPU = { event: 'cpu', duration_ms: 5000, rate_hz: 99, period: 0, stacks: true, turn: 0 };
const PLAN = {
  period_s: 60,
  visits_per_round: 3,
  events: [CPU],
  counted_events: [],
  counted_cgroups: 0,
  select_machines: {},
  failure_threshold: 0.5,
  failure_window: 20,
};

describe('a change of a campaign', () => {
  const before = draftOf(PLAN, 'fleet');
  const [cpu] = before.events;

  it('has only the members that differ', () => {
    expect(changeOf({ ...before, visits_per_round: '10' }, before)).toEqual({ visits_per_round: 10 });
    expect(changeOf({ ...before, failure_threshold: '20' }, before)).toEqual({ failure_threshold: 0.2 });
    expect(changeOf({ ...before, counted_events: 'cycles, instructions' }, before)).toEqual({
      counted_events: ['cycles', 'instructions'],
    });
    expect(changeOf(before, before)).toEqual({});
  });

  it('of a new campaign is the whole plan', () => {
    expect(changeOf({ ...draftOf(PLAN), name: 'mine' }, null)).toEqual(PLAN);
  });

  it('replaces all events if one of them differs', () => {
    const faults = { ...renamed(cpu, 'page-faults', ['cpu'], '99'), turn: '1' };
    expect(changeOf({ ...before, events: [cpu, faults] }, before)).toEqual({
      events: [CPU, { ...CPU, event: 'page-faults', rate_hz: 0, turn: 1 }],
    });
    expect(renamed(faults, 'cpu', ['cpu'], '99').rate_hz).toBe('99');
  });

  it('is refused with what is wrong at each field', () => {
    expect(mistakesIn({ ...before, name: 'a b' }, null)).toHaveProperty('name');
    const wrong = { ...before, period_s: '', select_machines: 'x', events: [{ ...cpu, turn: '0.5' }] };
    expect(Object.keys(mistakesIn(wrong, before))).toEqual(['period_s', 'select_machines', 'events.0.turn']);
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
