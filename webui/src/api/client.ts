/** Questions to `/api/v1`. Each resolves to the answer or throws an ApiProblem. */
import { decodeFlame, FLAME_MEDIA_TYPE, type FlameAnswer } from '../flame/decode.ts';
import type { SelectionQuery } from '../selection/place.ts';
import { problemOf, unreachable } from './problem.ts';
import type { FlameSummary, LabelsAnswer, StatusAnswer, TableAnswer } from './types.ts';

export interface TableQuery extends SelectionQuery {
  by: string;
  sort: string;
  limit: number;
  offset: number;
  find?: string;
}

async function ask(path: string, query: object, accept: string, signal: AbortSignal): Promise<Response> {
  const parameters = new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]));
  let response: Response;
  try {
    response = await fetch(`/api/v1/${path}?${parameters}`, { headers: { Accept: accept }, signal });
  } catch (reason) {
    if (signal.aborted) throw reason;
    throw unreachable();
  }
  if (!response.ok) {
    const body: unknown = await response.json().catch(() => null);
    throw problemOf(response.status, response.headers.get('X-Request-ID'), body);
  }
  return response;
}

async function askJson<T>(path: string, query: object, signal: AbortSignal): Promise<T> {
  return (await (await ask(path, query, 'application/json', signal)).json()) as T;
}

export function askTable(query: TableQuery, signal: AbortSignal): Promise<TableAnswer> {
  return askJson('table', query, signal);
}

export function askLabels(query: SelectionQuery, signal: AbortSignal): Promise<LabelsAnswer> {
  return askJson('labels', query, signal);
}

export function askStatus(signal: AbortSignal): Promise<StatusAnswer> {
  return askJson('status', {}, signal);
}

export async function askFlame(query: SelectionQuery & { nodes: number }, signal: AbortSignal): Promise<FlameAnswer<FlameSummary>> {
  const response = await ask('flame', query, FLAME_MEDIA_TYPE, signal);
  return decodeFlame<FlameSummary>(await response.arrayBuffer());
}
