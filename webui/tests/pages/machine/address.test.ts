import { describe, expect, it } from 'vitest';
import { onMachine, rangeOfProfile } from '../../../src/pages/machine/address.ts';

describe('the range of a profile', () => {
  it('ends a microsecond after its time', () => {
    expect(rangeOfProfile('2026-11-23T22:44:08.522963Z').to).toBe('2026-11-23T22:44:08.522964Z');
    expect(rangeOfProfile('2026-11-23T22:44:08Z').to).toBe('2026-11-23T22:44:08.000001Z');
    expect(rangeOfProfile('2026-11-23T22:44:59.999999Z').to).toBe('2026-11-23T22:45:00.000Z');
  });
});

describe('the filters of a machine', () => {
  it('add the machine to the others, and drop invalid ones', () => {
    expect(onMachine('{team="db"}', 'web-1')).toBe('{team="db",machine="web-1"}');
    expect(onMachine('{team', 'web-1')).toBe('{machine="web-1"}');
  });
});
