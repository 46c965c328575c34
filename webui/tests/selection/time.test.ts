import { describe, expect, it } from 'vitest';
import {
  absolute,
  fromLocalMinute,
  lengthOf,
  localMinute,
  minuteOf,
  presetOf,
  roughly,
  secondsBack,
} from '../../src/selection/time.ts';

describe('time ranges', () => {
  it('knows presets', () => {
    expect(presetOf({ from: 'now-15m', to: 'now' })).toBe('15m');
    expect(presetOf({ from: 'now-17m', to: 'now' })).toBeNull();
    expect(presetOf({ from: 'now-15m', to: '2026-11-21T00:00:00Z' })).toBeNull();
    expect(secondsBack('now-2d')).toBe(172_800);
    expect(secondsBack('2026-11-21T00:00:00Z')).toBeNull();
  });

  it('resolves relative times at one moment', () => {
    const asOf = Date.parse('2026-11-21T12:00:00Z');
    expect(absolute({ from: 'now-90m', to: 'now' }, asOf)).toEqual({
      from: '2026-11-21T10:30:00Z',
      to: '2026-11-21T12:00:00Z',
    });
    expect(absolute({ from: 'x', to: '2026-11-20T00:00:00Z' }, asOf)).toEqual({
      from: 'x',
      to: '2026-11-20T00:00:00Z',
    });
    expect(minuteOf(asOf + 59_999)).toBe(asOf);
    expect(lengthOf({ from: 'now-2h', to: 'now-1h' }, asOf)).toBe(3600);
    expect(lengthOf({ from: 'now', to: 'now-1h' }, asOf)).toBeNull();
  });

  it('goes from fields to instants and back', () => {
    const instant = '2026-11-21T04:05:00Z';
    expect(fromLocalMinute(localMinute(instant, 'T'))).toBe(instant);
    expect(fromLocalMinute('')).toBeNull();
    expect(localMinute('not a time')).toBe('not a time');
  });

  it('says how long roughly', () => {
    expect([3.2, 89, 600, 7200, 200_000].map(roughly)).toEqual(['3 s', '89 s', '10 min', '2 h', '2 days']);
  });
});
