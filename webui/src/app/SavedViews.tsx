/** The saved views of the present page (entries of the Export menu). */
import { Link } from 'wouter';
import { usePathname } from 'wouter/use-browser-location';
import { useAnswer } from '../api/useAnswer.ts';
import { sectionOf } from './pageNames.ts';

export function SavedViews({ close }: { close: () => void }) {
  const section = sectionOf(usePathname());
  const answer = useAnswer('/api/v1/views', {});
  const views = answer.data?.views.filter(({ path }) => sectionOf(path) === section) ?? [];
  if (views.length === 0) return null;
  return (
    <>
      <span className="menu-title">Saved views of this page</span>
      {views.map(({ id, name, path }) => (
        <Link key={id} href={path} onClick={close}>
          {name}
        </Link>
      ))}
    </>
  );
}
