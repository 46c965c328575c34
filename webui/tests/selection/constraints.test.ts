import { describe, expect, it } from 'vitest';
import { constraintsOf } from '../../src/selection/constraints.ts';
import { defaultsOf } from '../../src/selection/params.ts';
import { SELECTION } from '../../src/selection/selection.ts';

const HOME = defaultsOf(SELECTION);

describe('constraintsOf', () => {
  it('takes matchers away one at a time', () => {
    const found = constraintsOf({ ...HOME, select: '{application="x",machine!="m"}', from: 'now-7d' });
    expect(found.map((c) => c.without)).toEqual([
      { select: '{machine!="m"}' },
      { select: '{application="x"}' },
    ]);
  });

  it('names everything that narrows the selection', () => {
    const place = {
      ...HOME,
      from: 'now-1h',
      event: 'llc-misses',
      campaign: 'night',
      focus: 'f',
      ignore: 'g',
      hide: 'h',
      show: 's',
      show_from: 'm',
      select: 'oops',
    };
    expect(constraintsOf(place).map((c) => Object.keys(c.without)[0])).toEqual([
      'select',
      'focus',
      'ignore',
      'hide',
      'show',
      'show_from',
      'campaign',
      'event',
      'from',
    ]);
  });

  it('does not offer a day to those who look at a week', () => {
    expect(constraintsOf({ ...HOME, from: 'now-7d' })).toEqual([]);
  });
});
