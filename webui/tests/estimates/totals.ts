/** What stands behind an answer, for tests. */
import type { TableRow, Totals } from '../../src/api/types.ts';

export function totals(more: Partial<Totals> = {}): Totals {
  return {
    samples: 1000,
    units: 1e13,
    seconds: 10_000,
    machines: 180,
    visits: 220,
    profiles: 3000,
    kept: 1,
    symbolized: 1,
    leaf_symbolized: 1,
    complete: 1,
    design: 'random',
    path: 'cells',
    approximate: false,
    selected_seconds: 21_600,
    covered_seconds: 20_304,
    estimated_seconds: 20_304,
    population: 1000,
    uncovered_share: 0,
    visits_drawn: 240,
    visits_ingested: 226,
    visits_waiting: 0,
    missing: [],
    core_seconds: { value: 25_055_136, lo: 23_958_720, hi: 26_192_160 },
    cores: { value: 1234, lo: 1180, hi: 1290 },
    estimate: null,
    ...more,
  };
}

export function row(more: Partial<TableRow> = {}): TableRow {
  return {
    key: { function: 'malloc', file: 'malloc.c', binary: 'libc.so.6', status: 'full', kind: 'user' },
    function_id: 17,
    self: 1230,
    total: 2000,
    self_samples: 123,
    total_samples: 200,
    self_seconds: 12.3,
    total_seconds: 20,
    self_share: 0.123,
    self_lo: 0.11,
    self_hi: 0.137,
    total_share: 0.2,
    total_lo: 0.18,
    total_hi: 0.22,
    self_core_seconds: { value: 7200, lo: 6480, hi: 8100 },
    total_core_seconds: { value: 12_000, lo: 11_000, hi: 13_000 },
    low_confidence: false,
    visits: 200,
    machines: 150,
    ...more,
  };
}
