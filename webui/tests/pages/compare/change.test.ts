import { describe, expect, it } from 'vitest';
import type { DiffRow, SelectionEcho } from '../../../src/api/types.ts';
import {
  bySignificance,
  judged,
  points,
  probability,
  ratio,
  verdictOf,
} from '../../../src/pages/compare/change.ts';
import { sidesOf } from '../../../src/pages/compare/sides.ts';

const row = (more: Partial<DiffRow>): DiffRow => ({
  key: { function: 'f' },
  function_id: 1,
  a_share: 0.03,
  b_share: 0.02,
  delta: 0.01,
  lo: 0.004,
  hi: 0.016,
  p: 0.0004,
  q: 0.004,
  significant: true,
  low_confidence: false,
  a_cores: null,
  b_cores: null,
  cores: null,
  ...more,
});

describe('a change', () => {
  it('has a verdict only where chance does not explain it', () => {
    expect([
      verdictOf(row({})),
      verdictOf(row({ delta: -0.01 })),
      verdictOf(row({ significant: false })),
    ]).toEqual(['more', 'less', 'unsure']);
    expect(judged(row({}))).toBe('+1.00 points, interval +0.40 to +1.60; q = 0.004: significant');
    expect(judged(row({ q: 0.4, significant: false }))).toContain('q = 0.40: not significant');
    expect(judged(row({ q: 1e-5 }))).toContain('q < 0.001');
    expect(judged(row({ q: null, lo: null, hi: null }))).toBe('+1.00 points');
  });

  it('is written with its sign', () => {
    expect([0.0123, -0.004, 0, 0.00001, -0.00001].map(points)).toEqual([
      '+1.23',
      '−0.40',
      '0.00',
      '+0.00',
      '−0.00',
    ]);
    expect([0.0004, 0.034, 0.5, 1].map(probability)).toEqual(['< 0.001', '0.03', '0.50', '1.0']);
  });

  it('says what is new and what is gone', () => {
    expect(ratio(row({}))).toBe('×1.50');
    expect(ratio(row({ b_share: 0 }))).toBe('new');
    expect(ratio(row({ a_share: 0 }))).toBe('gone');
    expect(ratio(row({ a_share: 0, b_share: 0 }))).toBe('');
    expect(ratio(row({ a_share: 0.5, b_share: 0.01 }))).toBe('×50');
  });

  it('comes first if it can be relied on, then by its size', () => {
    const small = row({ delta: 0.001 });
    const large = row({ delta: -0.05, significant: false });
    const larger = row({ delta: -0.02 });
    expect(bySignificance([large, small, larger])).toEqual([larger, small, large]);
  });
});

describe('the sides', () => {
  const echo = (more: Partial<SelectionEcho>): SelectionEcho => ({
    event: 'cpu',
    unit: 'nanoseconds',
    from: '2026-11-21T04:00:00',
    to: '2026-11-21T05:00:00',
    select: '{}',
    campaign: 'fleet',
    focus: '',
    ignore: '',
    hide: '',
    show: '',
    show_from: '',
    ...more,
  });

  it('are named by what differs', () => {
    expect(
      sidesOf(
        echo({ select: '{application="x",version="2"}' }),
        echo({ select: '{application="x",version="1"}' }),
      ),
    ).toEqual(['version = 2', 'version = 1']);
    expect(sidesOf(echo({}), echo({ from: '2026-11-21T03:00:00', to: '2026-11-21T04:00:00' }))).toEqual([
      '2026-11-21 04:00–05:00',
      '2026-11-21 03:00–04:00',
    ]);
    expect(sidesOf(echo({ select: '{team=""}' }), echo({ campaign: 'by-hand' }))).toEqual([
      'team = (none), campaign fleet',
      'all, campaign by-hand',
    ]);
    expect(sidesOf(echo({}), echo({}))).toEqual(['the selection', 'the same selection']);
    const moment = { from: '2026-11-21T04:00:00.000123', to: '2026-11-21T05:00:00.000123' };
    expect(sidesOf(echo(moment), echo({ select: '{team="a"}' }))).toEqual(['all', 'team = a']);
  });
});
