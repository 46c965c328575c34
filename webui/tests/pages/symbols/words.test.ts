import { describe, expect, it } from 'vitest';
import type { ReprocessingAnswer } from '../../../src/api/types.ts';
import {
  advice,
  answered,
  firstSentence,
  progressOf,
  shortKey,
  size,
  stateOf,
} from '../../../src/pages/symbols/words.ts';

const REPROCESSING: ReprocessingAnswer = {
  id: 1,
  key: 'aa',
  why: 'x was uploaded.',
  requested_at: '2026-11-21T04:00:00Z',
  finished_at: null,
  renamed: 0,
  captures: 0,
  ingested: 0,
  failed: 0,
  left: 0,
};

describe('words about symbols', () => {
  const known = {
    kind: 'file',
    quality: 'dwarf',
    status: 'full',
    reason: '',
    samples: 9,
    unresolved: 0,
  } as const;

  it('say that nothing is missing only of what ran and has all names and lines', () => {
    expect(stateOf(known)).toBe('Nothing: every function that ran has a name.');
  });

  it('say why functions have no names, or what would help', () => {
    const nameless = { ...known, quality: null, status: 'binary_only', unresolved: 3 } as const;
    expect(stateOf({ ...nameless, reason: 'It was not uploaded.' })).toBe('It was not uploaded.');
    expect(stateOf(nameless)).toContain('Upload the unstripped file');
  });

  it('do not take what never ran for complete', () => {
    const unseen = { ...known, kind: '', status: 'unknown', samples: 0 } as const;
    const reason = 'No capture contains it yet.';
    expect(stateOf({ ...unseen, reason })).toBe(reason);
    expect(stateOf({ ...known, samples: 0 })).toBe('No sample of the last day contains it.');
  });

  it('tell names without lines, and why, in what a row shows', () => {
    const names = { ...known, quality: 'symtab', status: 'symtab' } as const;
    expect(stateOf(names)).toBe('No debug file: function names only.');
    const why = stateOf({ ...names, reason: 'No debug file was found. Two places were asked.' });
    expect(firstSentence(why)).toBe('No debug file: function names only.');
    // Functions that the machine itself named have names only, whatever is known of their file.
    expect(stateOf({ ...names, status: 'binary_only', reason: 'It is gone.' })).toContain(
      'function names only',
    );
  });

  it.each([
    [0, '0 bytes'],
    [999, '999 bytes'],
    [1000, '1.0 kB'],
    [999_499, '999 kB'],
    [999_999, '1.0 MB'],
    [1_234_567, '1.2 MB'],
    [99_400_000, '99 MB'],
    [99_600_000, '100 MB'],
    [5e15, '5000 TB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(size(bytes)).toBe(text);
  });

  it('shorten build-ids only', () => {
    expect(shortKey('9f86d081884c7d659a2feaa0c55ad015a3bf4f1b')).toBe('9f86d081884c…');
    expect(shortKey('go:abc/def')).toBe('go:abc/def');
  });

  it('say how far a reprocessing is', () => {
    expect(progressOf(REPROCESSING)).toBe('nothing to reprocess');
    expect(progressOf({ ...REPROCESSING, renamed: 1 })).toBe('1 function named immediately');
    expect(progressOf({ ...REPROCESSING, renamed: 7, captures: 9, ingested: 3, failed: 1, left: 5 })).toBe(
      '7 functions named immediately, 4 of 9 captures reprocessed, 1 failed',
    );
    expect(progressOf({ ...REPROCESSING, captures: 1, ingested: 1 })).toBe('1 capture reprocessed');
  });

  it('say what is wrong, and what a machine answered', () => {
    expect(firstSentence('It was stripped. It was not uploaded.')).toBe('It was stripped.');
    expect(firstSentence('No symbols')).toBe('No symbols');
    expect(answered({ outcome: 'got', detail: '' })).toBe('received');
    expect(answered({ outcome: 'failed', detail: 'timeout' })).toBe('the request failed (timeout)');
  });

  it('advise what can be had', () => {
    expect(advice({ kind: 'anonymous', quality: null })).toContain('does not come from a file');
    expect(advice({ kind: 'kernel', quality: null })).toContain('vmlinux');
    expect(advice({ kind: 'file', quality: 'dynsym' })).toContain('stripped');
  });
});
