import { ApiProblem } from '../../api/problem.ts';
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
  return (
    <div className="state" role="alert">
      <p className="sentence">{error.message}</p>
      {problem?.hint && <p>{problem.hint}</p>}
      {problem?.at != null && place.select !== '' && <Pointer text={place.select} at={problem.at} />}
      <p className="actions">
        {(problem === null || problem.isPassing) && (
          <button type="button" className="primary" onClick={retry}>
            Try again
          </button>
        )}
        {problem !== null && !problem.isPassing && place.select !== '' && (
          <button type="button" onClick={() => go({ select: '' })}>
            Remove the matchers
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

/** The text with a mark under the character where the server stopped understanding. */
function Pointer({ text, at }: { text: string; at: number }) {
  return (
    <pre className="pointer">
      {text}
      {'\n'}
      {' '.repeat(Math.min(at, text.length))}↑
    </pre>
  );
}
