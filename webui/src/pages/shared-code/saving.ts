/** What a saving in shared code is worth, from the rows of one answer. */
import type { components } from '../../api/schema.gen.ts';

export type SharedRow = components['schemas']['SharedRow'];

export interface Saved {
  /** Busy cores; null: the answer has no estimates. */
  cores: number | null;
  coreHours: number | null;
  /** In the period and per year; null: no price is set. */
  money: number | null;
  moneyAYear: number | null;
  /** Share of the selection. */
  share: number;
}

/** `percent` of the cost of these rows together. Values add up; intervals do not. */
export function savedBy(rows: readonly SharedRow[], percent: number): Saved {
  const part = percent / 100;
  const sum = (valueOf: (row: SharedRow) => { value: number } | null): number | null => {
    const values = rows.map(valueOf);
    if (values.length === 0 || values.some((value) => value === null)) return null;
    return part * values.reduce((total, value) => total + value!.value, 0);
  };
  return {
    cores: sum((row) => row.cost.cores),
    coreHours: sum((row) => row.cost.core_hours),
    money: sum((row) => row.cost.money),
    moneyAYear: sum((row) => row.cost.money_a_year),
    share: part * rows.reduce((total, row) => total + row.self_share, 0),
  };
}
