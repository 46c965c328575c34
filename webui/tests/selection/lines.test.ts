import { describe, expect, it } from 'vitest';
import { withoutFrameFilters } from '../../src/selection/lines.ts';

const QUERY = { event: 'cpu', from: 'a', to: 'b', campaign: 'fleet' };

describe('a selection for source lines', () => {
  it('keeps labels and drops conditions on frames', () => {
    const given = { ...QUERY, select: '{application="web",function="f"}', focus: '^g$' };
    expect(withoutFrameFilters(given)).toEqual({
      query: { ...QUERY, select: '{application="web"}' },
      had: true,
    });
    expect(withoutFrameFilters({ ...QUERY, select: '{function="f"}' })).toEqual({ query: QUERY, had: true });
  });

  it('says whether there was anything to drop', () => {
    const given = { ...QUERY, select: '{application="web"}' };
    expect(withoutFrameFilters(given)).toEqual({ query: given, had: false });
  });
});
