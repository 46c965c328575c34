import { expect, test } from 'vitest';
import { functionSums, readProfile } from '../../src/profile/document.ts';
import { formatState, parseState } from '../../src/profile/hashState.ts';

function element(content: object): HTMLElement {
  return { textContent: JSON.stringify(content) } as HTMLElement;
}

const PROFILE = {
  title: 'fleetprof record: prog',
  notes: [],
  event: 'cpu',
  unit: 'seconds',
  samples: 9,
  start_ms: 0,
  seconds: 2,
  functions: [
    ['f', '', 'prog', 'full', 'user'],
    ['g', 'g.c', 'prog', 'full', 'user'],
  ],
  // all > f > g > f
  parent: [-1, 0, 1, 2],
  function: [-1, 0, 1, 0],
  total: [9, 9, 5, 4],
  self: [0, 4, 1, 4],
};

test('a recursive function counts once per stack', () => {
  const { tree } = readProfile(element(PROFILE));
  expect(functionSums(tree).map((each) => [each.function.name, each.self, each.total])).toEqual([
    ['f', 8, 9],
    ['g', 1, 5],
  ]);
});

test('a damaged profile is refused', () => {
  expect(() => readProfile(element({ ...PROFILE, total: [9, 9, 5] }))).toThrow('differ in length');
  expect(() => readProfile(element({ ...PROFILE, self: [0, 99, 1, 4] }))).toThrow('impossible weight');
});

test('the state survives the address', () => {
  const state = { view: 'table', find: '^a+&b=c$', node: '1.2', up: '1' } as const;
  expect(parseState(formatState(state))).toEqual(state);
  expect(formatState(parseState('#view=nonsense'))).toBe('#');
});
