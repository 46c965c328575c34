import { describe, expect, it } from 'vitest';
import type { SearchHit } from '../../src/api/types.ts';
import { EXPLORE } from '../../src/app/pages.ts';
import { hitOptions, pageOptions } from '../../src/app/paletteOptions.ts';
import { defaultsOf } from '../../src/selection/params.ts';

const shown = { ...defaultsOf(EXPLORE.params), from: 'now-6h' };
const hit = (more: Partial<SearchHit>): SearchHit => ({
  kind: 'function',
  text: 'memcpy',
  function_id: null,
  file: null,
  binary: null,
  label: null,
  share: null,
  ...more,
});

describe('hits', () => {
  it.each([
    [hit({ function_id: 7, binary: 'libc.so.6' }), '/fn/7?from=now-6h'],
    [hit({ kind: 'application', text: 'a memcpy/b' }), '/service/a%20memcpy%2Fb?from=now-6h'],
    [hit({ kind: 'machine', text: 'memcpy-1' }), '/machines/memcpy-1?from=now-6h'],
    [hit({ kind: 'binary', text: 'memcpy.so' }), '/source/memcpy.so?from=now-6h'],
    [hit({ kind: 'file', text: 'memcpy.c' }), '/explore?from=now-6h&view=table&by=file&find=memcpy.c'],
  ])('lead to their pages and keep the selection: %o', (one, href) => {
    const [option] = hitOptions([one], 'memcpy', shown);
    expect(option.href).toBe(href);
  });

  it('that do not contain the text are left out: they answer an older one', () => {
    expect(hitOptions([hit({}), hit({ text: 'memmove' })], 'memc', shown).map((o) => o.text)).toEqual([
      'memcpy',
    ]);
  });
});

it('finds pages by name first, then by subject', () => {
  expect(pageOptions('com', shown).map((o) => o.text)).toEqual(['Compare']);
  const texts = pageOptions('ca', shown).map((o) => o.text);
  expect(texts.indexOf('Call graph')).toBeLessThan(texts.indexOf('Reports')); // capacity
  expect(pageOptions('roll', shown).map((o) => o.text)).toEqual(['Releases']);
  expect(pageOptions('home', shown)[0].href).toBe('/?from=now-6h');
});
