/**
 * The matchers of a selection: `{application="python3",platform=~"Zen.*",function!="main"}`.
 *
 * The grammar is the server's (docs/selections.md; tests/golden/selections checks both parsers), except for
 * regular expressions, which only the server validates. The page parses matchers to show and remove them
 * one by one, and to report errors during typing.
 */

export const OPERATORS = ['=', '!=', '=~', '!~'] as const;
export type Operator = (typeof OPERATORS)[number];

export interface Matcher {
  label: string;
  operator: Operator;
  value: string;
}

/** A syntax error: `at` counts characters from 0, as the server does. */
export interface Mistake {
  at: number;
  message: string;
}

const LONGEST = 4096;
const LONGEST_NAME = 256;
const MOST = 32;
const ALIASES: Readonly<Record<string, string>> = { app: 'application', 'build-id': 'build_id' };
const BARE_NAME = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const FRAME_NAMES = /^(self\.)?(function|file|binary)$/;

/** null if the text is not a list of matchers. Empty text selects everything. */
export function parseMatchers(text: string): Matcher[] | null {
  const found = readMatchers(text);
  return Array.isArray(found) ? found : null;
}

/** The error in a text; null if it is a list of matchers. */
export function mistakeIn(text: string): Mistake | null {
  const found = readMatchers(text);
  return Array.isArray(found) ? null : found;
}

export function formatMatchers(matchers: readonly Matcher[]): string {
  if (matchers.length === 0) return '';
  return `{${matchers.map((m) => `${formatName(m.label)}${m.operator}${quoted(m.value)}`).join(',')}}`;
}

/** The name as written in matchers: quoted if it would otherwise be parsed differently. */
export function formatName(name: string): string {
  return BARE_NAME.test(name) && !(name in ALIASES) ? name : quoted(name);
}

/** Whether it selects stacks by their frames, not profiles by their labels. */
export function isOnFrames(matcher: Matcher): boolean {
  return FRAME_NAMES.test(matcher.label);
}

/** `matchers` with this one added. It replaces those it contradicts or repeats: `=` and the same text. */
export function withMatcher(matchers: readonly Matcher[], added: Matcher): Matcher[] {
  const kept = matchers.filter(
    (m) =>
      m.label !== added.label || (m.value !== added.value && !(m.operator === '=' && added.operator === '=')),
  );
  return [...kept, added];
}

/** A regular expression that matches exactly this text. */
export function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** A regular expression that matches what either of the two matches; if `one` is empty, `other` alone. */
export function either(one: string, other: string): string {
  return one === '' ? other : `${one}|${other}`;
}

const ESCAPED: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\t': '\\t',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '"': '"', '\\': '\\' };

function quoted(value: string): string {
  return `"${value.replace(/[\n\t\r"\\]/g, (c) => ESCAPED[c])}"`;
}

function readMatchers(text: string): Matcher[] | Mistake {
  // Characters, not UTF-16 units: positions are the server's.
  const reader = new Reader(Array.from(text));
  try {
    return reader.matchers();
  } catch (error) {
    if (error instanceof Stopped) return error.mistake;
    throw error;
  }
}

class Stopped extends Error {
  constructor(readonly mistake: Mistake) {
    super(mistake.message);
  }
}

/** A text and a read position. */
class Reader {
  private at = 0;

  constructor(private readonly text: readonly string[]) {}

  matchers(): Matcher[] {
    if (this.text.length > LONGEST) throw stopped(LONGEST, `At most ${LONGEST} characters are allowed.`);
    const nul = this.text.indexOf('\0');
    if (nul >= 0) throw stopped(nul, `The text of the matchers has a NUL character at character ${nul + 1}.`);
    const opened = this.take('{');
    const found: Matcher[] = [];
    while (!this.ended(opened)) {
      if (found.length === MOST) throw stopped(this.at, `There are more than ${MOST} matchers.`);
      found.push(this.matcher());
      if (!this.take(',') && !this.ended(opened)) {
        throw this.expected(opened ? 'a comma or a closing brace' : 'a comma or the end');
      }
    }
    if (opened && !this.take('}')) throw this.expected('a closing brace');
    if (this.at < this.text.length) throw this.expected('the end');
    return found;
  }

  private ended(opened: boolean): boolean {
    this.skipSpace();
    return this.at === this.text.length || (opened && this.text[this.at] === '}');
  }

  private matcher(): Matcher {
    const label = this.name();
    const operator = this.operator();
    return { label, operator, value: this.string() };
  }

  private name(): string {
    const start = this.at;
    let name = '';
    if (this.text[start] === '"' || this.text[start] === '`') {
      name = this.string();
    } else {
      while (this.at < this.text.length && BARE_NAME.test(name + this.text[this.at])) {
        name += this.text[this.at++];
      }
      if (name === '') throw this.expected("a label's name");
      this.skipSpace();
      if (Object.hasOwn(ALIASES, name)) name = ALIASES[name];
    }
    const length = Array.from(name).length;
    if (length === 0 || length > LONGEST_NAME) {
      throw stopped(start, `A label's name has 1 to ${LONGEST_NAME} characters.`);
    }
    return name;
  }

  private operator(): Operator {
    const two = this.text.slice(this.at, this.at + 2).join('');
    const found = OPERATORS.find((one) => one === two) ?? (two.startsWith('=') ? '=' : undefined);
    if (found === undefined) throw this.expected('one of = != =~ !~');
    this.at += found.length;
    this.skipSpace();
    return found;
  }

  private string(): string {
    const start = this.at;
    const quote = this.text[start];
    if (quote !== '"' && quote !== '`') throw this.expected('a string in double quotes');
    let value = '';
    for (this.at++; this.at < this.text.length; this.at++) {
      const char = this.text[this.at];
      if (char === quote) {
        this.at++;
        this.skipSpace();
        return value;
      }
      if (char === '\\' && quote === '"') {
        const escape = this.text[++this.at] ?? '';
        if (!Object.hasOwn(ESCAPES, escape)) throw this.expected('one of " \\ n t r after the backslash');
        value += ESCAPES[escape];
      } else {
        value += char;
      }
    }
    throw stopped(start, `The string that begins at character ${start + 1} does not end.`);
  }

  private take(char: string): boolean {
    this.skipSpace();
    if (this.text[this.at] !== char) return false;
    this.at++;
    this.skipSpace();
    return true;
  }

  private skipSpace(): void {
    while (' \t\r\n'.includes(this.text[this.at] ?? 'x')) this.at++;
  }

  private expected(what: string): Stopped {
    const there = this.text[this.at];
    const found = there === undefined ? 'the end' : `'${there}'`;
    return stopped(this.at, `Expected ${what} at character ${this.at + 1}, found ${found}.`);
  }
}

function stopped(at: number, message: string): Stopped {
  return new Stopped({ at, message });
}
