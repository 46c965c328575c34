/** The first row of every page: where to go, search, theme, help and the reader's menu. */
import { Link } from 'wouter';
import { usePathname, useSearch, navigate } from 'wouter/use-browser-location';
import { useMemo } from 'react';
import { parseParams } from '../selection/params.ts';
import { SELECTION, type Selection } from '../selection/selection.ts';
import { Popover } from '../ui/Popover.tsx';
import { NARROW, useMedia } from '../ui/useMedia.ts';
import { SignOut } from '../ui/SignOut.tsx';
import { Brand } from './Brand.tsx';
import * as pages from './pages.ts';
import { linkTo, type PageOf } from './pages.ts';
import { SECTION_NAMES, sectionOf } from './pageNames.ts';
import { useKeys, type Keys } from './useKeys.ts';

interface Entry {
  page: PageOf;
  text: string;
  /** Pressed after `g`. */
  key: string;
}

const MAIN: readonly Entry[] = [
  { page: pages.HOME, text: 'Home', key: 'h' },
  { page: pages.EXPLORE, text: 'Explore', key: 'e' },
  { page: pages.COMPARE, text: 'Compare', key: 'c' },
  { page: pages.RELEASES, text: 'Releases', key: 'r' },
  { page: pages.CHANGES, text: 'Changes', key: 'n' },
  { page: pages.REPORTS, text: 'Reports', key: 'p' },
];
const FLEET: readonly Entry[] = [
  { page: pages.MACHINES, text: 'Machines', key: 'm' },
  { page: pages.CAMPAIGNS, text: 'Campaigns', key: 'a' },
  { page: pages.SYMBOLS, text: 'Symbols', key: 'y' },
  { page: pages.STATUS, text: 'Status', key: 't' },
  { page: pages.SETTINGS, text: 'Settings', key: 's' },
];

interface Props {
  dark: boolean;
  toggleTheme: () => void;
  help: () => void;
  search: () => void;
}

export function NavBar({ dark, toggleTheme, help, search }: Props) {
  const path = usePathname();
  const query = useSearch();
  const narrow = useMedia(NARROW);
  // Links keep the selection, so that a reader who changes the page keeps what is looked at.
  const selection: Selection = useMemo(() => parseParams(SELECTION, query), [query]);
  const hrefOf = ({ page }: Entry): string => linkTo(page, selection);
  const keys = useMemo<Keys>(
    () =>
      Object.fromEntries(
        [...MAIN, ...FLEET].map((entry) => [
          `g ${entry.key}`,
          [entry.text, () => navigate(linkTo(entry.page, selection))] as const,
        ]),
      ),
    [selection],
  );
  useKeys('Go to', keys);
  const current = (entry: Entry): 'page' | undefined =>
    sectionOf(entry.page.path) === sectionOf(path) ? 'page' : undefined;

  const links = (entries: readonly Entry[], close?: () => void) =>
    entries.map((entry) => (
      <Link
        key={entry.text}
        href={hrefOf(entry)}
        aria-current={current(entry)}
        {...(close ? { onClick: close } : {})}
      >
        {entry.text}
      </Link>
    ));
  // A phone has one menu of all pages, which names the present one.
  const inMenu = narrow ? [...MAIN, ...FLEET] : FLEET;
  const present = inMenu.find((entry) => current(entry));

  return (
    <nav className="nav" aria-label="pages">
      <Brand />
      <span className="nav-pages">
        {!narrow && links(MAIN)}
        <Popover
          label={narrow ? 'all pages' : 'pages about the fleet'}
          buttonClass={present ? 'nav-menu current' : 'nav-menu'}
          button={narrow ? `${SECTION_NAMES[sectionOf(path)] ?? 'Pages'} ▾` : 'Fleet ▾'}
        >
          {(close) => (
            <span className="menu-links">
              {links(inMenu, close)}
              {narrow && <SignOut />}
            </span>
          )}
        </Popover>
      </span>
      <span className="spacer" />
      <button type="button" className="search-button" onClick={search} title="search everything ( Ctrl K )">
        <span className="long">Search functions, services, machines</span>
        <span className="short">Search</span> <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <button
        type="button"
        className="icon"
        onClick={toggleTheme}
        aria-label={dark ? 'use light colours' : 'use dark colours'}
        title="dark or light ( t )"
      >
        {dark ? '☀' : '☾'}
      </button>
      <button
        type="button"
        className="icon"
        onClick={help}
        aria-label="keys and words"
        title="keys and words ( ? )"
      >
        ?
      </button>
      {!narrow && <SignOut />}
    </nav>
  );
}
