/** Time ranges as presets and in the URL. */

import { plural } from './numbers.ts';

export const PRESETS = ['15m', '1h', '6h', '24h', '7d'] as const;
export type Preset = (typeof PRESETS)[number];

/** Whether the range ends now and moves with the clock. */
export function isLive(range: { to: string }): boolean {
  return range.to === 'now';
}

/** The preset equal to this range, or null. */
export function presetOf(range: { from: string; to: string }): Preset | null {
  return isLive(range) ? (PRESETS.find((p) => range.from === `now-${p}`) ?? null) : null;
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds before now in `now-15m`, or null for any other text. */
export function secondsBack(from: string): number | null {
  const m = /^now-(\d+)([smhd])$/.exec(from);
  return m ? Number(m[1]) * UNITS[m[2]] : null;
}

/** Refetch interval of a live page: short enough to show newly ingested visits, longer for long ranges. */
export function refreshEvery(range: { from: string; to: string }): number | false {
  if (!isLive(range)) return false;
  const back = secondsBack(range.from);
  if (back === null || back > 6 * 3600) return 60_000;
  return back > 3600 ? 30_000 : 10_000;
}

/** `2026-11-21 04:05` in the reader's time zone, for people and for `datetime-local` (with a `T`). */
export function localMinute(instant: string, separator = ' '): string {
  const t = new Date(instant);
  if (Number.isNaN(t.getTime())) return instant;
  const two = (v: number): string => String(v).padStart(2, '0');
  const day = `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
  return `${day}${separator}${two(t.getHours())}:${two(t.getMinutes())}`;
}

/** From a `datetime-local` field to RFC 3339 in UTC, or null while it is incomplete. */
export function fromLocalMinute(text: string): string | null {
  const t = new Date(text);
  return text === '' || Number.isNaN(t.getTime()) ? null : t.toISOString().replace('.000Z', 'Z');
}

/** `3 s`, `12 min`, `5 h`, `2 days`: an age or a waiting time, in one number. */
export function roughly(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** The length of a range: `1 h`, `7 days`; approximate if it is not in whole hours or days. */
export function length(seconds: number): string {
  if (seconds > 0 && seconds % 86_400 === 0) return plural(seconds / 86_400, 'day');
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600} h`;
  return roughly(seconds);
}
