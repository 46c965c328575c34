/** The source files of a binary, or one of them with the cost of its lines. */
import { SOURCE } from '../../app/pages.ts';
import { useParts } from '../../app/useParts.ts';
import { usePlace } from '../../app/usePlace.ts';
import { FileList } from './FileList.tsx';
import { FileSource } from './FileSource.tsx';
import './source-page.css';

export function SourcePage() {
  const [place, go] = usePlace(SOURCE);
  const [binary] = useParts(SOURCE);
  return place.path === '' ? (
    <FileList binary={binary} place={place} go={go} />
  ) : (
    <FileSource key={place.path} binary={binary} place={place} go={go} />
  );
}
