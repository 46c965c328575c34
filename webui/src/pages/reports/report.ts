/** A report as data: its question, its parameters, and how its answer is said, drawn and tabulated. */
import type { GetRoute } from '../../api/client.ts';
import type { components } from '../../api/schema.gen.ts';
import { page, SHOWN, type PageOf } from '../../app/pages.ts';
import type { Param, Params } from '../../selection/params.ts';
import type { Selection } from '../../selection/selection.ts';
import type { BarChartData } from '../../views/chart/BarChart.tsx';
import type { LineChartData } from '../../views/chart/LineChart.tsx';
import type { StackedSharesData } from '../../views/chart/StackedShares.tsx';
import type { Columns, ReportColumn } from './columns.tsx';

export type Schemas = components['schemas'];
export type Figure = Schemas['Figure'];
export type Unavailable = Schemas['Unavailable'];

export const GROUPS = [
  'Capacity',
  'Frequency',
  'Platforms',
  'Interference',
  'Releases',
  'Data quality',
] as const;
export type Group = (typeof GROUPS)[number];

/** The heaviest values of labels in the selection, the heaviest first. */
export interface Known {
  application: readonly string[];
  platform: readonly string[];
}

/** The state of a report's page: the selection and the report's own parameters. */
export type Place = Selection & Readonly<Record<string, unknown>>;

/** A parameter of a report, by the API's name. */
export interface Field {
  name: string;
  label: string;
  help: string;
  /** Used if the URL does not have it. An empty field is not sent. */
  initial: string;
  /** Missing: text. */
  choices?: readonly { value: string; text: string }[];
  /** Suggests the values of this label. */
  suggest?: keyof Known;
  /** The value of an empty field. */
  fallback?: (known: Known, place: Place, asOf: number) => string;
  /** Without a value there is no question. */
  required?: boolean;
  /** Of many characters. */
  wide?: boolean;
  /** Shown after a click only: few questions need it. */
  advanced?: boolean;
  /** The words of the command; default: `--name value`. null: no command asks with a value here. */
  words?: ((value: string) => string[]) | null;
}

/** Choices whose values are their texts. */
export function choicesOf(values: readonly string[]): NonNullable<Field['choices']> {
  return values.map((value) => ({ value, text: value.replace(',', ' and ') }));
}

/** A platform of the selection; empty: the one of this place in the order of CPU time. */
export function platformField(name: string, label: string, place: 0 | 1): Field {
  return {
    name,
    label,
    help: `Empty: the platform with ${place === 0 ? 'most' : 'the second most'} CPU time.`,
    initial: '',
    suggest: 'platform',
    fallback: ({ platform }) => platform[place] ?? '',
    required: true,
    words: argument,
  };
}

/** The largest number of rows. */
export const ROWS: Omit<Field, 'initial'> = {
  name: 'limit',
  advanced: true,
  label: 'Rows',
  help: 'At most.',
  words: (value) => ['--rows', value],
};

/** A field that is an argument of the command, not an option. */
export function argument(value: string): string[] {
  return [value];
}

/** A switch of the command. */
export function cautiously(value: string): string[] {
  return [value === 'true' ? '--cautious' : '--no-cautious'];
}

/** Lists that the command takes as one option for each value. */
export function repeated(option: string): (value: string) => string[] {
  return (value) => value.split(',').flatMap((one) => [option, one.trim()]);
}

export type ChartData =
  | ({ kind: 'bars' } & BarChartData)
  | ({ kind: 'lines' } & LineChartData)
  | ({ kind: 'shares' } & StackedSharesData);

export interface TableData<Row> {
  label: string;
  /** A column without any value is not shown. */
  columns: (c: Columns<Row>) => readonly ReportColumn<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Number of rows of which `rows` are a part. */
  total?: number;
}

/** A table whose rows give the columns their type. */
export function table<Row>(data: TableData<Row>): TableData<Row> {
  return data;
}

/** Addresses of the pages of what a report names, with its selection. */
export interface Links {
  application: (name: string) => string;
  /** The explorer, narrowed to this value of a label. */
  value: (label: string, value: string) => string;
  fn: (id: number) => string;
  report: (kind: string) => string;
}

/** What brings a missing input. */
export interface Remedy {
  text: string;
  command?: string;
  /** Another page of this site, and its name. */
  link?: { href: string; text: string };
}

/** The report's own parameters as sent, by the API's names. */
export type Used = Readonly<Record<string, string>>;

export interface Report<Answer> {
  /** The last part of the page's path. */
  kind: string;
  group: Group;
  title: string;
  question: string;
  /** What the answer needs, in one line of the index. */
  needs: string;
  /** The model in a few sentences. */
  explain: string;
  /** A section of docs/models.md. */
  section: string;
  route: GetRoute;
  /** false: the answer depends on the fields only, not on a selection. */
  readsFleet?: false;
  /** The command, if it is not `fleetprof report KIND`; null: none asks this question. */
  command?: string | ((query: Used) => string | null);
  /** The event of the selection is a parameter of the route; other models need certain events. */
  readsEvent?: true;
  fields: readonly Field[];
  /** The answer in one sentence, with its interval. */
  sentence(answer: Answer, used: Used): string;
  /** What the usual simple estimate says, if the answer has one. */
  naive?(answer: Answer): string | null;
  chart(answer: Answer): ChartData | null;
  tables(answer: Answer): readonly TableData<any>[];
  /** What the answer rests on, besides inputs, left out profiles, limits and coefficients (basis.ts). */
  assumptions?(answer: Answer): readonly string[];
  /** What brings a missing input, besides what remedies.ts finds. */
  missing?(answer: Answer, links: Links, used: Used): readonly Remedy[];
  /** The reason why there is no answer; default: the answer's `because`. */
  because?(answer: Answer): Unavailable | null;
}

export type AnyReport = Report<any>;

/** Empty text is a value: it switches a default off. */
function typed(initial: string): Param<string> {
  return { initial, parse: (given) => given.slice(0, 4096), format: (value) => value };
}

/** The page of a report, with its parameters beside those of the selection. */
export function pageOf(report: AnyReport): PageOf {
  const own: Params = Object.fromEntries(report.fields.map(({ name, initial }) => [name, typed(initial)]));
  return page(`/reports/${report.kind}`, { ...SHOWN, ...own });
}

/** The values of the fields that are sent, and the labels of those that are required and empty. */
export function valuesOf(
  report: AnyReport,
  place: Place,
  known: Known,
  asOf: number,
): { values: Record<string, string>; wanting: string[] } {
  const values: Record<string, string> = {};
  const wanting: string[] = [];
  for (const field of report.fields) {
    const given = String(place[field.name] ?? field.initial).trim();
    const value = given || (field.fallback?.(known, place, asOf) ?? '');
    if (value !== '') values[field.name] = value;
    else if (field.required) wanting.push(field.label);
  }
  return { values, wanting };
}

/** Whether a field without a value takes one from the labels. */
export function needsLabels(report: AnyReport): boolean {
  return report.fields.some((field) => field.suggest !== undefined);
}
