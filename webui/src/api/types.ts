/** The API's answers, as this page reads them. */
import type { FlameHead } from '../flame/decode.ts';

export interface Totals {
  samples: number;
  /** Core-seconds; null for events that are not counted in time. */
  seconds: number | null;
  machines: number;
  visits: number;
  profiles: number;
  symbolized: number;
  leaf_symbolized?: number;
  complete: number;
}

export interface SelectionEcho {
  event: string;
  unit: string;
  from: string;
  to: string;
  select: string;
  campaign: string;
}

export interface TableRow {
  key: Record<string, string>;
  function_id?: number | null;
  self: number;
  total: number;
  self_seconds: number | null;
  total_seconds: number | null;
  self_share: number;
  total_share: number;
  machines: number;
}

export interface TableAnswer {
  selection: SelectionEcho;
  totals: Totals;
  by: string[];
  rows: TableRow[];
  rows_total: number;
  remainder: { rows: number; self: number; self_share: number };
}

export interface FlameSummary extends FlameHead {
  selection: SelectionEcho;
  totals: Totals;
}

export interface LabelsAnswer {
  labels: { name: string; values: { value: string; seconds: number | null; share: number }[]; more: number }[];
}

export interface CampaignStatus {
  name: string;
  state: string;
  why: string | null;
  since: string | null;
  period_s: number;
  last_round: string | null;
}

export interface StatusAnswer {
  now: string;
  machines: { enabled: number; total: number };
  campaigns: CampaignStatus[];
  visits: { last_hour: Record<string, number> };
  captures: { waiting: number; oldest_waiting_s: number | null; set_aside: number };
  events: { event: string; unit: string }[];
  /** When the newest visit landed; null before the first. */
  latest: string | null;
  symbols: { missing: { binary: string; path: string; reason: string; share: number }[] };
}
