/** The server's refusal of a change: its sentence and hint. */
import { ApiProblem } from '../../api/problem.ts';

export function ProblemText({ error }: { error: Error | null }) {
  return (
    <p role="alert" className="bad problem-text">
      {error !== null && [error.message, error instanceof ApiProblem ? error.hint : ''].join(' ').trim()}
    </p>
  );
}
