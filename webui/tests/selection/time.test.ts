import { describe, expect, it } from 'vitest';
import {
  fromLocalMinute,
  localMinute,
  presetOf,
  refreshEvery,
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

  it('refreshes live ranges only, long ones seldom', () => {
    expect(refreshEvery({ from: 'now-15m', to: 'now' })).toBe(10_000);
    expect(refreshEvery({ from: 'now-7d', to: 'now' })).toBe(60_000);
    expect(refreshEvery({ from: '2026-11-20T00:00:00Z', to: 'now' })).toBe(60_000);
    expect(refreshEvery({ from: 'now-15m', to: '2026-11-21T00:00:00Z' })).toBe(false);
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
