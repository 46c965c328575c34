import { describe, expect, it } from 'vitest';
import {
  amountOf,
  groundOf,
  measured,
  MEASURES,
  offered,
  write,
  writeRange,
} from '../../src/estimates/measure.ts';
import {
  bracket,
  caution,
  FEW,
  machinesColumn,
  onMachines,
  REACHES_ZERO,
  seenIn,
  spoken,
} from '../../src/estimates/words.ts';
import { row, totals } from './totals.ts';

const ground = groundOf(totals(), '{}', 0.04);
const self = amountOf(row(), 'self');

describe('measures', () => {
  it('are the same estimate in other units', () => {
    expect(measured(self, 'share', ground)).toEqual({ value: 0.123, lo: 0.11, hi: 0.137 });
    expect(measured(self, 'machines', ground)).toEqual({ value: 123, lo: 110, hi: 137 });
    expect(measured(self, 'core-seconds', ground)?.value).toBe(7200);
    expect(measured(self, 'cores', ground)!.value).toBeCloseTo(7200 / 20_304, 10);
    expect(measured(self, 'money', ground)!.hi).toBeCloseTo((8100 / 3600) * 0.04, 10);
    expect(measured(self, 'samples', ground)).toEqual({ value: 123, lo: null, hi: null });
    expect(measured(amountOf(row(), 'total'), 'share', ground)?.lo).toBe(0.18);
  });

  it('are offered where the answer knows them', () => {
    expect(offered(ground)).toEqual([...MEASURES]);
    expect(offered(groundOf(totals(), '{}', null))).not.toContain('money');
    const counted = totals({ seconds: null, core_seconds: null, cores: null });
    expect(offered(groundOf(counted, '{}', 0.04))).toEqual(['share', 'samples', 'machines']);
    const byHand = totals({ design: 'none', core_seconds: null, cores: null, population: 0 });
    expect(offered(groundOf(byHand, '{}', 0.04))).toEqual(['share', 'samples', 'core-seconds']);
  });

  it('are of the days with ingested visits', () => {
    const half = groundOf(totals({ estimated_seconds: 10_152, uncovered_share: 0.5 }), '{}', 0.04);
    expect(measured(self, 'cores', half)!.value).toBeCloseTo(7200 / 10_152, 10);
    expect(measured(self, 'core-seconds', half)).toEqual(measured(self, 'core-seconds', ground));
    const none = groundOf(totals({ estimated_seconds: 0, uncovered_share: 1 }), '{}', 0.04);
    expect(offered(none)).toEqual(['share', 'samples', 'core-seconds', 'machines']);
    expect(measured(self, 'cores', none)).toBeNull();
  });

  it('count machines of the whole fleet only', () => {
    const part = groundOf(totals(), '{application="search",function="f"}', null);
    expect(offered(part)).toEqual(['share', 'samples', 'core-seconds', 'cores']);
    expect(measured(self, 'machines', part)).toBeNull();
    expect(offered(groundOf(totals(), '', null))).toContain('machines');
    expect(offered(groundOf(totals(), '{self.binary="libc.so.6"}', null))).toContain('machines');
  });

  it('say what was sampled where nothing follows for the fleet', () => {
    const byHand = groundOf(totals({ design: 'none' }), '{}', null);
    const amount = amountOf(row({ self_core_seconds: null, self_samples: null }), 'self');
    expect(measured(amount, 'core-seconds', byHand)).toEqual({ value: 12.3, lo: null, hi: null });
    expect(measured(amount, 'cores', byHand)).toBeNull();
    expect(measured(amount, 'machines', byHand)).toBeNull();
    expect(measured(amount, 'samples', byHand)).toBeNull();
  });

  it('of fewer than three profiles are what was observed, without intervals', () => {
    const few = groundOf(totals({ visits_ingested: 2 }), '{}', 0.04);
    expect(offered(few)).toEqual(['share', 'samples', 'core-seconds']);
    const self = amountOf(row(), 'self');
    expect(measured(self, 'share', few)).toEqual({ value: 0.123, lo: null, hi: null });
    expect(measured(self, 'core-seconds', few)).toEqual({ value: 12.3, lo: null, hi: null });
    const three = groundOf(totals({ visits_ingested: 3 }), '{}', 0.04);
    expect(measured(self, 'share', three)?.lo).toBe(0.11);
  });

  it('are written with both ends in the unit of the value', () => {
    expect(write('share', 0.1234)).toBe('12.34 %');
    expect(writeRange('share', 0.123, 0.11, 0.137)).toEqual({ text: '11.00–13.70', unit: ' %' });
    expect(writeRange('core-seconds', 7100, 6480, 8100)).toEqual({ text: '108–135', unit: ' min' });
    expect(writeRange('cores', 1234, 1180, 1290).text).toBe('1,180–1,290');
    expect(
      ['0', '< 0.01', '0.25', '1,235'].map((_, k) => write('money', [0, 0.001, 0.25, 1234.6][k])),
    ).toEqual(['0', '< 0.01', '0.25', '1,235']);
    expect(writeRange('money', 0.02, 0.001, 0.03).text).toBe('0–0.03');
    expect(write('cores', 2e-7)).toBe('< 0.001');
    expect(write('samples', 1_230_000)).toBe('1.23 M');
  });
});

describe('words', () => {
  it('say the interval aloud', () => {
    expect(spoken('share', { value: 0.123, lo: 0.11, hi: 0.137 })).toBe(
      '12.30 %, 95 % interval 11.00 to 13.70 %',
    );
    expect(spoken('machines', { value: 123, lo: 110, hi: 137 })).toBe(
      '123 machines (equivalent), 95 % interval 110 to 137',
    );
    expect(spoken('share', { value: 0.5, lo: null, hi: null })).toBe('50.00 %');
    expect(spoken('cores', null)).toBe('not available');
  });

  it('give an upper bound for what was never seen', () => {
    expect(spoken('share', { value: 0, lo: 0, hi: 0.0002 })).toBe('0.00 % observed, 95 % upper bound 0.02 %');
    expect(bracket('share', { value: 0, lo: 0, hi: 0.0002 })).toBe('≤ 0.02 %');
  });

  it('warn where few visits decide, however many saw it, else of intervals that reach zero', () => {
    expect(FEW).toContain('One or two profiles');
    expect(FEW).not.toMatch(/few/i); // beside "153 profiles, 99 machines" that would be a contradiction
    expect(caution({ value: 0.1, lo: 0, hi: 0.3 }, true)).toBe(FEW);
    expect(caution({ value: 0.1, lo: 0, hi: 0.3 }, false)).toBe(REACHES_ZERO);
    expect(caution({ value: 0, lo: 0, hi: 0.3 }, false)).toBe('');
    expect(caution({ value: 0.1, lo: 0.05, hi: 0.3 }, false)).toBe('');
  });

  it('name those behind an amount as far as they are known', () => {
    const path = 'chunks';
    expect(seenIn({ visits: 1, machines: 1, path })).toBe('1 profile, 1 machine');
    expect(seenIn({ visits: 1200, machines: null, path })).toBe('1,200 profiles');
    expect(seenIn({ visits: null, machines: null, path })).toBe('');
    expect(machinesColumn({ visits: 221, machines: 1184, path })).toBe('1,184');
    expect(machinesColumn({ visits: 221, machines: null, path })).toBe('–');
  });

  it.each(['cells', 'mixed'] as const)('do not pass the count of merged %s for an exact one', (path) => {
    const seen = { visits: 221, machines: 164, path };
    expect(seenIn(seen)).toBe('221 profiles, about 164 machines');
    expect(machinesColumn(seen)).toBe('≈ 164');
    expect(seenIn({ visits: 1, machines: 1, path })).toBe('1 profile, 1 machine');
    expect(machinesColumn({ visits: 1, machines: 1, path })).toBe('1');
    const many = { visits: 1060, machines: null, path };
    expect(seenIn(many)).toBe('1,060 profiles, many machines');
    expect(onMachines(many)).toBe('many machines');
    expect(machinesColumn(many)).toBe('many');
    expect(seenIn({ visits: null, machines: null, path })).toBe('');
    expect(machinesColumn({ visits: null, machines: null, path })).toBe('–');
  });
});
