/** Requests to `/api/v1`. Each resolves to the response or throws an ApiProblem. */
import createClient, { type MaybeOptionalInit } from 'openapi-fetch';
import { problemOf, unreachable } from './problem.ts';
import type { paths } from './schema.gen.ts';
import { session, SESSION_HEADER } from './session.ts';

export const api = createClient<paths, 'application/json'>({ baseUrl: '/' });
api.use({ onRequest: ({ request }) => request.headers.set(SESSION_HEADER, session()) });

/** Routes that answer GET. */
export type GetRoute = {
  [R in keyof paths]: paths[R] extends { get: { responses: { 200: unknown } } } ? R : never;
}[keyof paths];
type Get<R extends GetRoute> = paths[R] extends { get: infer G } ? G : never;
type Parameters<R extends GetRoute> = Get<R> extends { parameters: infer P } ? P : never;

/** The query parameters of a route. */
export type QueryOf<R extends GetRoute> =
  Parameters<R> extends { query?: infer Q }
    ? [Exclude<Q, undefined>] extends [never]
      ? Record<string, never>
      : Exclude<Q, undefined>
    : Record<string, never>;
/** The parameters in its path. */
export type PathOf<R extends GetRoute> = Parameters<R> extends { path: infer P } ? P : never;
/** Its answer as JSON. */
export type AnswerOf<R extends GetRoute> =
  Get<R> extends { responses: { 200: { content: { 'application/json': infer A } } } } ? A : never;

interface Reply {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** The answer of a request under way; throws an ApiProblem, or the reason if `signal` is aborted. */
export async function answerOf<T>(reply: Promise<Reply>, signal?: AbortSignal): Promise<T> {
  let arrived: Reply;
  try {
    arrived = await reply;
  } catch (reason) {
    if (signal?.aborted) throw reason;
    throw unreachable();
  }
  const { data, error, response } = arrived;
  if (!response.ok || data === undefined) {
    if (response.ok) return undefined as T; // 204: no content
    throw problemOf(response, error);
  }
  return data as T;
}

export function read<R extends GetRoute>(
  route: R,
  query: QueryOf<R>,
  path: PathOf<R> | undefined,
  signal: AbortSignal,
): Promise<AnswerOf<R>> {
  const init = { params: { query, path }, signal } as unknown as MaybeOptionalInit<paths[R], 'get'>;
  // openapi-fetch infers the answer per literal route; here the route is a parameter.
  const get = api.GET as unknown as (route: R, init: unknown) => Promise<Reply>;
  return answerOf(get(route, init), signal);
}

/** The address of a question, for links, downloads and `curl`. */
export function addressOf(route: string, query: object, path: object = {}): string {
  const parts = path as Record<string, string | number>;
  const filled = route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parts[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query as Record<string, unknown>))
    if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === '' ? filled : `${filled}?${text}`;
}
