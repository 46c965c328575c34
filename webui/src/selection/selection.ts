/** The selection of profiles that all views of a page share; its names are the API's parameters. */
import { text, type ValuesOf } from './params.ts';
import { absolute } from './time.ts';

export const SELECTION = {
  event: text('cpu'),
  /** RFC 3339 or `now-24h`. A day is the shortest range that the server answers from rollups. */
  from: text('now-24h'),
  /** RFC 3339 or `now`. */
  to: text('now'),
  /** Label matchers as text; empty selects everything. */
  select: text(),
  campaign: text('fleet'),
  /** Regular expressions on a frame's function, file and binary: keep stacks with or without such a frame. */
  focus: text(),
  ignore: text(),
  /** Remove such frames, all others, or all frames above the outermost such frame from the stacks. */
  hide: text(),
  show: text(),
  show_from: text(),
} as const;

export type Selection = ValuesOf<typeof SELECTION>;

/** The parameters that act on frames. */
export const FRAME_FILTERS = ['focus', 'ignore', 'hide', 'show', 'show_from'] as const;
export type FrameFilter = (typeof FRAME_FILTERS)[number];

/** The base of a comparison. Empty: as in the selection. All of them empty: the preceding time. */
export const BASE = {
  base_select: text(),
  base_from: text(),
  base_to: text(),
  base_campaign: text(),
} as const;
export type BaseParams = ValuesOf<typeof BASE>;

/** The query parameters of a selection, common to all routes of the API. */
export interface SelectionQuery {
  event: string;
  from: string;
  to: string;
  select?: string;
  campaign: string;
  focus?: string;
  ignore?: string;
  hide?: string;
  show?: string;
  show_from?: string;
}

/**
 * `asOf`: the moment that `now` means, in milliseconds since 1970. All requests of a page have the same, so all
 * panels show the same visits, and readers in the same minute share the server's answers.
 */
export function selectionOf(selection: Selection, asOf: number): SelectionQuery {
  const { event, campaign } = selection;
  const query: SelectionQuery = { event, campaign, ...absolute(selection, asOf) };
  for (const name of ['select', ...FRAME_FILTERS] as const)
    if (selection[name] !== '') query[name] = selection[name];
  return query;
}
