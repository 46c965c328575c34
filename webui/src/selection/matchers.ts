/**
 * The label matchers of a selection: `{application="python3",platform=~"Zen.*"}`.
 *
 * The server is the judge of the language; this reader exists so that matchers can be shown and removed
 * one by one. What it cannot read is passed on as it is, and the server says what is wrong where.
 */

export const OPERATORS = ['=', '!=', '=~', '!~'] as const;
export type Operator = (typeof OPERATORS)[number];

export interface Matcher {
  label: string;
  operator: Operator;
  value: string;
}

/** null where the text is not a list of matchers. Empty text selects everything. */
export function parseMatchers(text: string): Matcher[] | null {
  const body = text.trim();
  if (body === '' || body === '{}') return [];
  if (!body.startsWith('{') || !body.endsWith('}')) return null;
  const one = /\s*([A-Za-z_][\w./-]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/y;
  const inner = body.slice(1, -1).trimEnd();
  const matchers: Matcher[] = [];
  while (one.lastIndex < inner.length) {
    const m = one.exec(inner);
    if (m === null) return null;
    matchers.push({ label: m[1], operator: m[2] as Operator, value: unescape(m[3]) });
  }
  return matchers;
}

export function formatMatchers(matchers: readonly Matcher[]): string {
  if (matchers.length === 0) return '';
  return `{${matchers.map((m) => `${m.label}${m.operator}"${escape(m.value)}"`).join(',')}}`;
}

/** `matchers` with this one added. It replaces what it would contradict or repeat: `=` and the same text. */
export function withMatcher(matchers: readonly Matcher[], added: Matcher): Matcher[] {
  const kept = matchers.filter(
    (m) =>
      m.label !== added.label || (m.value !== added.value && !(m.operator === '=' && added.operator === '=')),
  );
  return [...kept, added];
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\t': '\\t',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};
const UNESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function escape(value: string): string {
  return value.replace(/[\n\t\r"\\]/g, (c) => ESCAPES[c]);
}

function unescape(value: string): string {
  return value.replace(/\\(.)/g, (_, c: string) => UNESCAPES[c] ?? c);
}

/** A regular expression that matches exactly this text. */
export function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
