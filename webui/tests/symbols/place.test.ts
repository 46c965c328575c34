import { describe, expect, it } from 'vitest';
import { formatSymbolsPlace, parseSymbolsPlace, SYMBOLS_HOME, symbolsOf } from '../../src/symbols/place.ts';

describe('the place of the page of symbols', () => {
  it('is nothing where nothing was chosen', () => {
    expect(formatSymbolsPlace(SYMBOLS_HOME)).toBe('');
    expect(parseSymbolsPlace('')).toEqual(SYMBOLS_HOME);
  });

  it('comes back from its own text', () => {
    const place = { show: 'all', sort: 'name', find: 'libz & co', binary: 'go:a/b-1' } as const;
    expect(parseSymbolsPlace(formatSymbolsPlace(place))).toEqual(place);
    expect(formatSymbolsPlace(place)).toContain('binary=go:a/b-1');
  });

  it('gives way to the default where it means nothing', () => {
    expect(parseSymbolsPlace('?show=some&sort=-price')).toEqual(SYMBOLS_HOME);
    expect(parseSymbolsPlace(`?find=${'x'.repeat(500)}`).find).toHaveLength(200);
  });

  it('is of one binary from a row without a name', () => {
    expect(symbolsOf('libc++.so')).toBe('/symbols?show=all&find=libc%2B%2B.so');
  });
});
