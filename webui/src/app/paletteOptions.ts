/** What the search over everything offers: pages, and the names that the server found. */
import type { SearchHit } from '../api/types.ts';
import { percent } from '../selection/numbers.ts';
import * as pages from './pages.ts';
import { linkTo, type ExplorePlace, type PageOf } from './pages.ts';

export interface Option {
  /** Heading of its group. */
  group: string;
  text: string;
  /** Tells it from others of its name: a function's binary. */
  aside: string;
  /** Share of the selection: `3.4 %`; empty if it is not known. */
  share: string;
  href: string;
}

const PAGES: readonly (readonly [page: PageOf, text: string, about: string])[] = [
  [pages.HOME, 'Home', 'overview of the fleet'],
  [pages.EXPLORE, 'Explore', 'table and flame graph of functions'],
  [pages.COMPARE, 'Compare', 'two selections, before and after'],
  [pages.RELEASES, 'Releases', 'versions, roll-outs'],
  [pages.CHANGES, 'Changes', 'what became slower or faster'],
  [pages.GRAPH, 'Call graph', 'functions and their calls'],
  [pages.REPORTS, 'Reports', 'capacity, placement, frequency'],
  [pages.RELIABILITY, 'Reliability', 'whether a profile is reliable'],
  [pages.SHARED_CODE, 'Shared code', 'libraries that many applications run'],
  [pages.MACHINES, 'Machines', 'hosts'],
  [pages.CAMPAIGNS, 'Campaigns', 'plans of sampling'],
  [pages.SYMBOLS, 'Symbols', 'binaries and debug files'],
  [pages.STATUS, 'Status', 'failures, lag'],
  [pages.SETTINGS, 'Settings', 'tokens, price'],
];

const GROUPS: Readonly<Record<SearchHit['kind'], string>> = {
  function: 'Functions',
  file: 'Files',
  binary: 'Binaries',
  application: 'Applications',
  machine: 'Machines',
};

/** The pages whose name or subject contains the text, those whose name begins with it first. */
export function pageOptions(typed: string, shown: ExplorePlace): Option[] {
  const wanted = typed.trim().toLowerCase();
  const rank = (text: string): number => (text.toLowerCase().startsWith(wanted) ? 0 : 1);
  return PAGES.filter(([, text, about]) => `${text} ${about}`.toLowerCase().includes(wanted))
    .sort(([, a], [, b]) => rank(a) - rank(b))
    .map(([page, text, about]) => ({
      group: 'Pages',
      text,
      aside: about,
      share: '',
      href: linkTo(page, shown),
    }));
}

/**
 * The hits that contain the text: while an answer to a longer text is under way, hits of a shorter one are shown, and
 * Enter must not open one that does not match.
 */
export function hitOptions(hits: readonly SearchHit[], typed: string, shown: ExplorePlace): Option[] {
  const wanted = typed.trim().toLowerCase();
  return hits
    .filter((hit) => hit.text.toLowerCase().includes(wanted))
    .map((hit) => ({
      group: GROUPS[hit.kind],
      text: hit.text,
      aside: hit.kind === 'function' ? (hit.binary ?? '') : '',
      share: hit.share === null ? '' : percent(hit.share),
      href: addressOf(hit, shown),
    }));
}

function addressOf(hit: SearchHit, shown: ExplorePlace): string {
  switch (hit.kind) {
    case 'function':
      return linkTo(pages.FUNCTION, shown, {}, hit.function_id ?? 0);
    case 'application':
      return linkTo(pages.SERVICE, shown, {}, hit.text);
    case 'machine':
      return linkTo(pages.MACHINE, shown, {}, hit.text);
    case 'binary':
      return linkTo(pages.SOURCE, shown, {}, hit.text);
    case 'file':
      return linkTo(pages.EXPLORE, shown, { by: 'file', find: hit.text, view: 'table' });
  }
}
