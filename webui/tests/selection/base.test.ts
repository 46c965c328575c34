import { describe, expect, it } from 'vitest';
import { COMPARE, type ComparePlace } from '../../src/app/pages.ts';
import {
  baseOf,
  baseParams,
  diffQuery,
  swapped,
  withLabels,
  withoutValue,
} from '../../src/selection/base.ts';
import { defaultsOf } from '../../src/selection/params.ts';
import { earlier, later } from '../../src/selection/periods.ts';

const HOME = { ...defaultsOf(COMPARE.params), from: 'now-1h' };
const NOON = Date.parse('2026-11-21T12:00:00Z');
const place = (change: Partial<ComparePlace>): ComparePlace => ({ ...HOME, ...change });

describe('the base', () => {
  it('is the previous period by default', () => {
    expect(baseOf(place({ select: '{a="b"}' }))).toEqual({
      select: '{a="b"}',
      from: 'now-2h',
      to: 'now-1h',
      campaign: 'fleet',
    });
    const absolute = place({ from: '2026-11-21T04:00:00Z', to: '2026-11-21T05:30:00Z' });
    expect(baseOf(absolute)).toMatchObject({ from: '2026-11-21T02:30:00Z', to: '2026-11-21T04:00:00Z' });
  });

  it('takes from the selection what is not said', () => {
    const versions = place({ select: '{version="2"}', ...baseParams({ select: '{version="1"}' }) });
    expect(baseOf(versions)).toEqual({
      select: '{version="1"}',
      from: 'now-1h',
      to: 'now',
      campaign: 'fleet',
    });
    const before = place({ select: '{version="2"}', ...baseParams({ from: 'now-3h', to: 'now-2h' }) });
    expect(baseOf(before).select).toBe('{version="2"}');
  });

  it('can be everything', () => {
    const all = place({ select: '{version="2"}', ...baseParams({ select: '' }) });
    expect(baseOf(all)).toMatchObject({ select: '', from: 'now-1h' });
    expect(diffQuery(all, NOON)).toMatchObject({
      select: '{version="2"}',
      base_select: '{}',
      from: '2026-11-21T11:00:00Z',
      base_from: '2026-11-21T11:00:00Z',
      base_to: '2026-11-21T12:00:00Z',
    });
  });

  it('changes places with the selection, and back', () => {
    const given = place({ select: '{version="2"}', ...baseParams({ select: '' }) });
    const once = place({ ...given, ...swapped(given) });
    expect(baseOf(once)).toMatchObject({ select: '{version="2"}' });
    expect(once.select).toBe('');
    const twice = place({ ...once, ...swapped(once) });
    expect([twice.select, twice.from, twice.to, baseOf(twice)]).toEqual([
      given.select,
      given.from,
      given.to,
      baseOf(given),
    ]);
  });

  it('lies a day or a week back, moving with the clock if the selection does', () => {
    expect(earlier({ from: 'now-90m', to: 'now' }, 'previous period')).toEqual({
      from: 'now-3h',
      to: 'now-90m',
    });
    expect(earlier({ from: 'now-1h', to: 'now' }, 'a day earlier')).toEqual({
      from: 'now-25h',
      to: 'now-1d',
    });
    const hour = { from: '2026-11-21T04:00:00Z', to: '2026-11-21T05:00:00Z' };
    expect(earlier(hour, 'a week earlier')).toEqual({
      from: '2026-11-14T04:00:00Z',
      to: '2026-11-14T05:00:00Z',
    });
    expect(earlier({ from: 'yesterday', to: 'now' }, 'a day earlier')).toBeNull();
    expect(earlier({ from: hour.to, to: hour.from }, 'a day earlier')).toBeNull();
  });
});

describe('periods', () => {
  it('go back and forth', () => {
    const hour = { from: '2026-11-21T04:00:00Z', to: '2026-11-21T05:00:00Z' };
    expect(later(earlier(hour, 'previous period')!, NOON)).toEqual(hour);
    expect(earlier({ from: 'now-2h', to: 'now-1h' }, 'previous period')).toEqual({
      from: 'now-3h',
      to: 'now-2h',
    });
    expect(later({ from: 'now-3h', to: 'now-2h' }, NOON)).toEqual({ from: 'now-2h', to: 'now-1h' });
    expect(later({ from: 'now-2h', to: 'now-1h' }, NOON)).toEqual({ from: 'now-1h', to: 'now' });
  });

  it('do not go beyond now', () => {
    expect(later({ from: 'now-1h', to: 'now' }, NOON)).toBeNull();
    expect(later({ from: '2026-11-21T08:00:00Z', to: '2026-11-21T11:00:00Z' }, NOON)).toEqual({
      from: '2026-11-21T09:00:00Z',
      to: '2026-11-21T12:00:00Z',
    });
    expect(later({ from: '2026-11-21T08:00:00Z', to: '2026-11-21T12:00:00Z' }, NOON)).toBeNull();
  });
});

describe('labels of a row', () => {
  it('replace what the selection says of them', () => {
    expect(withLabels('{version="2",team="a"}', ['version'], { version: '1' })).toBe(
      '{team="a",version="1"}',
    );
    expect(withoutValue('{version="2",team="a"}', 'version', '2')).toBe('{team="a",version!="2"}');
    expect(withLabels('', ['application', 'version'], { application: 'x', version: '' })).toBe(
      '{application="x",version=""}',
    );
  });
});
