import { describe, expect, it } from 'vitest';
import type { DiffRow, SelectionEcho } from '../../../src/api/types.ts';
import {
  changeOf,
  inOrder,
  isShown,
  judged,
  probability,
  ratio,
  signed,
  type Change,
  type ChangedRow,
  type Only,
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

const share = (more: Partial<DiffRow>): Change => changeOf(row(more), 'share', null)!;

describe('a change', () => {
  it('has a verdict only where chance does not explain it', () => {
    expect([
      share({}).verdict,
      share({ delta: -0.01 }).verdict,
      share({ significant: false }).verdict,
    ]).toEqual(['more', 'less', 'unsure']);
    const said = (more: Partial<DiffRow>): string => judged(row(more), share(more), 'share');
    expect(said({})).toBe('+1.00 percentage points, interval +0.40 to +1.60; q = 0.004: significant');
    expect(said({ q: 0.4, significant: false })).toContain('q = 0.40: not significant');
    expect(said({ q: 1e-5 })).toContain('q < 0.001');
    expect(said({ q: null, lo: null, hi: null })).toBe('+1.00 percentage points');
  });

  it('in cores has the verdict of the interval of cores', () => {
    const interval = (lo: number, hi: number) => ({ value: (lo + hi) / 2, lo, hi });
    const cores = (lo: number, hi: number) =>
      row({
        a_cores: interval(20, 24),
        b_cores: interval(10, 12),
        cores: interval(lo, hi),
        significant: false,
      });
    expect(
      [cores(9, 13), cores(-1, 3), cores(-3, -1)].map((r) => changeOf(r, 'cores', null)?.verdict),
    ).toEqual(['more', 'unsure', 'less']);
    expect(changeOf(row({}), 'cores', null)).toBeNull();
    expect(changeOf(cores(9, 13), 'money', null)).toBeNull();
    expect(changeOf(cores(9, 13), 'money', 0.1)).toMatchObject({ before: 803, after: 1606 });
    expect(judged(cores(9, 13), changeOf(cores(9, 13), 'cores', null)!, 'cores')).toBe(
      '+11.0 cores, interval +9.00 to +13.0: significant at 95 % for this row alone',
    );
  });

  it('is written with its sign', () => {
    expect([0.0123, -0.004, 0, 0.00001, -0.00001].map((delta) => signed(delta, 'share'))).toEqual([
      '+1.23',
      '−0.40',
      '0.00',
      '+0.00',
      '−0.00',
    ]);
    expect([0.0004, 0.034, 0.5, 1].map(probability)).toEqual(['< 0.001', '0.03', '0.50', '1.0']);
  });

  it('says what is new and what is gone', () => {
    expect(ratio(share({}))).toBe('×1.50');
    expect(ratio(share({ b_share: 0 }))).toBe('new');
    expect(ratio(share({ a_share: 0 }))).toBe('gone');
    expect(ratio(share({ a_share: 0, b_share: 0 }))).toBe('');
    expect(ratio(share({ a_share: 0.5, b_share: 0.01 }))).toBe('×50');
  });

  it('is sorted and filtered by any column', () => {
    const rows: ChangedRow[] = [
      { name: 'b', row: row({}), change: share({ delta: 0.02, significant: false }) },
      { name: 'a', row: row({}), change: share({ delta: -0.01 }) },
      { name: 'c', row: row({}), change: share({ delta: 0.005, b_share: 0 }) },
    ];
    const names = (sort: string): string =>
      inOrder(rows, sort)
        .map((r) => r.name)
        .join('');
    expect(['', 'name', '-name', 'change', '-change', '-ratio'].map(names)).toEqual([
      'acb',
      'abc',
      'cba',
      'acb',
      'bca',
      'cba',
    ]);
    const shown = (only: Only): string[] => rows.filter((r) => isShown(r, only)).map((r) => r.name);
    expect(shown('all')).toHaveLength(3);
    expect(shown('significant')).toEqual(['a', 'c']);
    expect(shown('slower')).toEqual(['c']);
    expect(shown('faster')).toEqual(['a']);
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
