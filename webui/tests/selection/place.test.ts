import { describe, expect, it } from 'vitest';
import {
  formatPlace,
  HOME,
  parsePlace,
  selectionOf,
  SORTS,
  VIEWS,
  type Place,
} from '../../src/selection/place.ts';
import { MEASURES } from '../../src/estimates/measure.ts';
import { random } from '../flame/grow.ts';

describe('the place in the URL', () => {
  it('is empty at home', () => {
    expect(formatPlace(HOME)).toBe('');
    expect(parsePlace('')).toEqual(HOME);
  });

  it('stays readable', () => {
    expect(
      formatPlace({ ...HOME, from: '2026-11-21T04:00:00Z', to: '2026-11-21T05:00:00Z', mark: 'function:17' }),
    ).toBe('?from=2026-11-21T04:00:00Z&to=2026-11-21T05:00:00Z&mark=function:17');
  });

  it('comes back as it went, whatever is in it', () => {
    const next = random(3);
    const alphabet = ['a', '&', '=', '"', '+', ' ', '%', '#', 'ü', '\\', '~', ':', ','];
    const text = (): string =>
      Array.from(
        { length: 1 + Math.floor(next() * 8) },
        () => alphabet[Math.floor(next() * alphabet.length)],
      ).join('');
    for (let k = 0; k < 500; k++) {
      const place: Place = {
        event: text(),
        from: text(),
        to: text(),
        select: text(),
        campaign: text(),
        focus: text(),
        ignore: text(),
        hide: text(),
        show: text(),
        show_from: text(),
        base_select: text(),
        base_from: text(),
        base_to: text(),
        base_campaign: text(),
        view: VIEWS[k % VIEWS.length],
        by: text(),
        measure: MEASURES[k % MEASURES.length],
        sort: SORTS[k % SORTS.length],
        find: text(),
        regex: k % 2 === 0,
        mark: text(),
        node: text(),
        direction: k % 2 === 0 ? 'up' : 'down',
      };
      expect(parsePlace(formatPlace(place))).toEqual(place);
    }
  });

  it('gives way to defaults where a link is broken', () => {
    const place = parsePlace('?view=pie&sort=colour&direction=sideways&regex=yes&event=&utm_source=mail');
    expect(place).toEqual(HOME);
  });

  it('asks the API for the selection only', () => {
    expect(selectionOf({ ...HOME, find: 'x', node: 'y', view: 'table' })).toEqual({
      event: 'cpu',
      from: 'now-1h',
      to: 'now',
      campaign: 'fleet',
    });
    expect(selectionOf({ ...HOME, focus: 'f', ignore: 'i', select: '{a="b"}' })).toMatchObject({
      focus: 'f',
      ignore: 'i',
      select: '{a="b"}',
    });
  });
});
