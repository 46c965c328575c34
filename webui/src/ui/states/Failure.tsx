import { ApiProblem } from '../../api/problem.ts';
import { Pointer } from '../Pointer.tsx';
import type { Go } from '../../location/usePlace.ts';
import { HOME, type Place } from '../../selection/place.ts';
import { remedyFor } from './remedy.ts';

interface Props {
  error: Error;
  retry: () => void;
  place: Place;
  go: Go;
}

/** The server's sentence and hint, and the request's id in its log. */
export function Failure({ error, retry, place, go }: Props) {
  const problem = error instanceof ApiProblem ? error : null;
  const wrong = problem?.parameter ?? '';
  const written = Object.hasOwn(place, wrong) ? String(place[wrong as keyof Place]) : '';
  const remedy = remedyFor(problem, place);
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
        {remedy !== null && (
          <button type="button" onClick={() => go(remedy.change)}>
            {remedy.text}
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
