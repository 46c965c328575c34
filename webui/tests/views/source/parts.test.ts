import { describe, expect, it } from 'vitest';
import { partsOf, type Highlighting } from '../../../src/views/source/parts.ts';

const HIGHLIGHTING: Highlighting = {
  sha256: '',
  language: 'c',
  classes: ['', 'keyword', 'number'],
  lines: [[], [6, 1, 1, 0, 2, 2]],
  missing: null,
};

describe('parts of a line', () => {
  it('have the classes of their syntax, and the rest has none', () => {
    expect(partsOf('return 42;', 2, HIGHLIGHTING)).toEqual([
      { text: 'return', kind: 'keyword' },
      { text: ' ', kind: '' },
      { text: '42', kind: 'number' },
      { text: ';', kind: '' },
    ]);
  });

  it('are the whole text without known syntax', () => {
    expect(partsOf('x', 1, HIGHLIGHTING)).toEqual([{ text: 'x', kind: '' }]);
    expect(partsOf('x', 9, HIGHLIGHTING)).toEqual([{ text: 'x', kind: '' }]);
    expect(partsOf('x', 2, undefined)).toEqual([{ text: 'x', kind: '' }]);
    expect(partsOf('', 2, HIGHLIGHTING)).toEqual([]);
  });

  it('never exceed the text', () => {
    expect(partsOf('ret', 2, HIGHLIGHTING)).toEqual([{ text: 'ret', kind: 'keyword' }]);
  });
});
