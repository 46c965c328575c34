import { describe, expect, it } from 'vitest';
import * as pages from '../../src/app/pages.ts';
import { COMPARE, EXPLORE, FUNCTION, linkTo, type PageOf } from '../../src/app/pages.ts';
import { defaultsOf, formatParams, parseParams } from '../../src/selection/params.ts';
import { selectionOf } from '../../src/selection/selection.ts';
import { random } from '../flame/grow.ts';

const HOME = defaultsOf(EXPLORE.params);
const NOON = Date.parse('2026-11-21T12:00:00Z');

describe('the place in the URL', () => {
  it('is empty at home', () => {
    expect(formatParams(EXPLORE.params, HOME)).toBe('');
    expect(parseParams(EXPLORE.params, '')).toEqual(HOME);
  });

  it('stays readable', () => {
    const place = { ...HOME, from: '2026-11-21T04:00:00Z', to: '2026-11-21T05:00:00Z', mark: 'function:17' };
    expect(formatParams(EXPLORE.params, place)).toBe(
      '?from=2026-11-21T04:00:00Z&to=2026-11-21T05:00:00Z&mark=function:17',
    );
  });

  it.each(Object.values(pages).filter((p): p is PageOf => typeof p === 'object' && 'params' in p))(
    'comes back as it went: $path',
    ({ params }) => {
      const next = random(3);
      const alphabet = ['a', '&', '=', '"', '+', ' ', '%', '#', 'ü', '\\', '~', ':', ','];
      const text = (): string =>
        Array.from(
          { length: 1 + Math.floor(next() * 8) },
          () => alphabet[Math.floor(next() * alphabet.length)],
        ).join('');
      for (let k = 0; k < 100; k++) {
        // A text that a parameter does not accept becomes its default.
        const place = Object.fromEntries(
          Object.entries(params).map(([name, param]) => [
            name,
            param.parse(k % 2 ? text() : String(1 + (k % 9))) ?? param.initial,
          ]),
        );
        expect(parseParams(params, formatParams(params, place))).toEqual(place);
      }
    },
  );

  it('gives way to defaults where a link is broken', () => {
    const query = '?view=pie&sort=colour&direction=sideways&regex=yes&event=&fn=-1&utm_source=mail';
    expect(parseParams(EXPLORE.params, query)).toEqual(HOME);
  });

  it('asks the API for the selection only, at one moment', () => {
    expect(selectionOf({ ...HOME, find: 'x' } as typeof HOME, NOON)).toEqual({
      event: 'cpu',
      from: '2026-11-20T12:00:00Z',
      to: '2026-11-21T12:00:00Z',
      campaign: 'fleet',
    });
    expect(selectionOf({ ...HOME, focus: 'f', ignore: 'i', select: '{a="b"}' }, NOON)).toMatchObject({
      focus: 'f',
      ignore: 'i',
      select: '{a="b"}',
    });
    expect(selectionOf({ ...HOME, from: 'yesterday' }, NOON).from).toBe('yesterday');
  });
});

describe('links between pages', () => {
  const explored = { ...HOME, select: '{a="b"}', from: 'now-7d', view: 'flame' as const, node: 'x' };

  it('keep the selection, and nothing that the other page lacks', () => {
    expect(linkTo(FUNCTION, explored, {}, 17)).toBe(
      `/fn/17?from=now-7d&select=${encodeURIComponent('{a="b"}')}`,
    );
    expect(linkTo(COMPARE, explored, { base_from: 'now-2d' })).toContain('base_from=now-2d');
  });

  it('escape names in paths', () => {
    expect(linkTo(pages.ASM, {}, {}, 'go:a/b-1', 3)).toBe('/asm/go%3Aa%2Fb-1/3');
  });
});
