import { describe, expect, it } from 'vitest';
import {
  baseOf,
  compareWith,
  diffQuery,
  earlier,
  fixed,
  swapped,
  withLabels,
  withoutValue,
} from '../../src/compare/base.ts';
import { HOME, type Place } from '../../src/selection/place.ts';

const place = (change: Partial<Place>): Place => ({ ...HOME, ...change });

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
    const versions = place({ select: '{version="2"}', ...compareWith({ select: '{version="1"}' }) });
    expect(baseOf(versions)).toEqual({
      select: '{version="1"}',
      from: 'now-1h',
      to: 'now',
      campaign: 'fleet',
    });
    const before = place({ select: '{version="2"}', ...compareWith({ from: 'now-3h', to: 'now-2h' }) });
    expect(baseOf(before).select).toBe('{version="2"}');
  });

  it('can be everything', () => {
    const all = place({ select: '{version="2"}', ...compareWith({ select: '' }) });
    expect(baseOf(all)).toMatchObject({ select: '', from: 'now-1h' });
    expect(diffQuery(all)).toMatchObject({ select: '{version="2"}', base_select: '{}', base_from: 'now-1h' });
  });

  it('changes places with the selection, and back', () => {
    const given = place({ select: '{version="2"}', ...compareWith({ select: '' }) });
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

describe('a copied link', () => {
  it('fixes the times of both sides', () => {
    const times = { from: '2026-11-21T04:00:00Z', to: '2026-11-21T05:00:00Z' };
    const before = { from: '2026-11-21T03:00:00Z', to: '2026-11-21T04:00:00Z' };
    const shown = place({ select: '{a="b"}', ...fixed(times, before) });
    expect(shown).toMatchObject(times);
    expect(baseOf(shown)).toEqual({ ...before, select: '{a="b"}', campaign: 'fleet' });
    expect(fixed(times, undefined)).toEqual(times);
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
