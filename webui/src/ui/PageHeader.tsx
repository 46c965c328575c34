/** The header of a page without a selection, with links between pages. */
import { Brand } from './Brand.tsx';
import { SignOut } from './SignOut.tsx';
import { useTheme } from './useTheme.ts';
import { useKeys } from './useKeys.ts';
import { useMemo } from 'react';

export type PageName = 'profiles' | 'symbols';
const PAGES: readonly { name: PageName; href: string; text: string }[] = [
  { name: 'profiles', href: '/', text: 'Profiles' },
  { name: 'symbols', href: '/symbols', text: 'Symbols' },
];

export function PageLinks({ current }: { current: PageName }) {
  return (
    <nav className="pages" aria-label="pages">
      {PAGES.map((page) => (
        <a key={page.name} href={page.href} aria-current={page.name === current ? 'page' : undefined}>
          {page.text}
        </a>
      ))}
    </nav>
  );
}

export function PageHeader({ current }: { current: PageName }) {
  const { dark, toggle } = useTheme();
  useKeys(useMemo(() => ({ t: toggle }), [toggle]));
  return (
    <header>
      <Brand />
      <PageLinks current={current} />
      <span className="spacer" />
      <button
        type="button"
        className="icon"
        onClick={toggle}
        aria-label={dark ? 'use light colours' : 'use dark colours'}
        title="dark or light ( t )"
      >
        {dark ? '☀' : '☾'}
      </button>
      <SignOut />
    </header>
  );
}
