/** Failed responses as the browser delivers them. */
import { problemOf, type ApiProblem } from '../../src/api/problem.ts';

export function problem(status: number, body: unknown, headers: Record<string, string> = {}): ApiProblem {
  return problemOf({ status, headers: new Headers(headers) }, body);
}
