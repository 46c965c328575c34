import { expect, it } from 'vitest';
import { nearTo } from '../../src/selection/near.ts';

const values = ['checkout', 'search', 'search-ranker', 'pricing', 'db'];

it('finds names with a few other letters, nearest first', () => {
  expect(nearTo('chekout', values)).toEqual(['checkout']);
  expect(nearTo('serch', values)).toEqual(['search']);
  expect(nearTo('SEARCH', values)).toEqual(['search', 'search-ranker']);
});

it('finds nothing for a name of other letters', () => {
  expect(nearTo('nosuch', values)).toEqual([]);
  expect(nearTo('xx', values)).toEqual([]);
});
