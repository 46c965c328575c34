import { ApiProblem } from '../../api/problem.ts';
import { compareWith } from '../../compare/base.ts';
import { Pointer } from '../Pointer.tsx';
import type { Go } from '../../location/usePlace.ts';
import { HOME, type Place } from '../../selection/place.ts';

interface Props {
  error: Error;
  retry: () => void;
  place: Place;
  go: Go;
}

/** The server's own sentence, what it advises, and how to find the request in its log. */
export function Failure({ error, retry, place, go }: Props) {
  const problem = error instanceof ApiProblem ? error : null;
  const wrong = problem?.parameter ?? '';
  const written = Object.hasOwn(place, wrong) ? String(place[wrong as keyof Place]) : '';
  const removed = withoutTheFault(wrong, place);
  return (
    <div className="state" role="alert">
      <p className="sentence">{error.message}</p>
      {problem?.hint && <p>{problem.hint}</p>}
      {problem?.at != null && written !== '' && <Pointer text={written} at={problem.at} />}
      <p className="actions">
        {(problem === null || problem.isPassing) && (
          <button type="button" className="primary" onClick={retry}>
            Try again
          </button>
        )}
        {problem !== null && !problem.isPassing && removed !== null && (
          <button type="button" onClick={() => go(removed.change)}>
            {removed.text}
          </button>
        )}
        {problem !== null && !problem.isPassing && (
          <button type="button" onClick={() => go({ ...HOME, view: place.view })}>
            Start from the whole fleet
          </button>
        )}
      </p>
      {problem?.requestId && (
        <p className="note">
          Request <code>{problem.requestId}</code> in the server’s log
        </p>
      )}
    </div>
  );
}

const PATTERNS: readonly string[] = ['focus', 'ignore', 'hide', 'show', 'show_from'];

/** The smallest change that takes away what the server could not make sense of. */
function withoutTheFault(wrong: string, place: Place): { text: string; change: Partial<Place> } | null {
  if (PATTERNS.includes(wrong)) return { text: 'Remove this filter', change: { [wrong]: '' } };
  if (wrong === 'from' || wrong === 'to')
    return { text: 'Show the last hour', change: { from: HOME.from, to: HOME.to } };
  if (wrong.startsWith('base_')) return { text: 'Compare with the time before', change: compareWith({}) };
  if (wrong === 'event') return { text: `Show ${HOME.event}`, change: { event: HOME.event } };
  return place.select === '' ? null : { text: 'Remove the matchers', change: { select: '' } };
}
