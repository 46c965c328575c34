import { describe, expect, it } from 'vitest';
import { timelessOf } from '../../src/api/useKept.ts';

describe('a question without its times', () => {
  it('stays the same while the page moves on', () => {
    const at = (from: string, to: string, select: string) =>
      timelessOf({ from, to, select, base_from: from });
    expect(at('1', '2', 'a')).toBe(at('2', '3', 'a'));
    expect(at('1', '2', 'a')).not.toBe(at('1', '2', 'b'));
  });
});
