/** Time ranges as presets and in the URL. */

import { plural } from './numbers.ts';

export const PRESETS = ['15m', '1h', '6h', '24h', '2d', '7d', '30d'] as const;
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

/** The range with its relative times resolved; texts that are not times stay, and the server reports them. */
export function absolute(range: { from: string; to: string }, asOf: number): { from: string; to: string } {
  return { from: instantOf(range.from, asOf), to: instantOf(range.to, asOf) };
}

function instantOf(text: string, asOf: number): string {
  const back = text === 'now' ? 0 : secondsBack(text);
  return back === null ? text : rfc3339(asOf - 1000 * back);
}

export function rfc3339(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');
}

const MINUTE_MS = 60_000;

/** The latest whole minute: `now` of a page between refreshes. */
export function minuteOf(milliseconds: number): number {
  return Math.floor(milliseconds / MINUTE_MS) * MINUTE_MS;
}

/** Length of a range in seconds; null if its texts are not times. */
export function lengthOf(range: { from: string; to: string }, asOf: number): number | null {
  const { from, to } = absolute(range, asOf);
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return seconds > 0 ? seconds : null;
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
