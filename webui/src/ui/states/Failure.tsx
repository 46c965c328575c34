/** The server's sentence and hint, what to change, and the request's id in its log. */
import { ApiProblem } from '../../api/problem.ts';
import type { GoShown, Shown } from '../../app/Page.tsx';
import { defaultsOf } from '../../selection/params.ts';
import { SELECTION } from '../../selection/selection.ts';
import { Pointer } from '../Pointer.tsx';
import { remediesFor } from './remedy.ts';

interface Props {
  error: Error;
  retry: () => void;
  /** The selection of the failed request. */
  place?: Shown;
  go?: GoShown;
}

export function Failure({ error, retry, place, go }: Props) {
  const problem = error instanceof ApiProblem ? error : null;
  const wrong = problem?.parameter ?? '';
  const written = place && Object.hasOwn(place, wrong) ? String(place[wrong as keyof Shown]) : '';
  const remedies = place ? remediesFor(problem, place) : [];
  const isPassing = problem === null || problem.isPassing;
  return (
    <div className="state" role="alert">
      <p className="sentence">{error.message}</p>
      {problem?.hint && <p>{problem.hint}</p>}
      {problem?.at != null && written !== '' && <Pointer text={written} at={problem.at} />}
      <p className="actions">
        {(isPassing || problem.isTooSlow) && (
          <button type="button" className="primary" onClick={retry}>
            Try again
          </button>
        )}
        {go &&
          remedies.map(({ text, change }) => (
            <button key={text} type="button" onClick={() => go(change)}>
              {text}
            </button>
          ))}
        {go && !isPassing && (
          <button type="button" onClick={() => go({ ...defaultsOf(SELECTION) })}>
            Clear all filters
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
