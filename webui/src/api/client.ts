/** Requests to `/api/v1`. Each resolves to the response or throws an ApiProblem. */
import createClient from 'openapi-fetch';
import { FLAME_MEDIA_TYPE, type FlameAnswer } from '../flame/decode.ts';
import { decodeAside, prepareDecoding } from '../flame/decodeAside.ts';
import type { DiffQuery } from '../compare/base.ts';
import type { SelectionQuery, Sort } from '../selection/place.ts';
import { problemOf, unreachable } from './problem.ts';
import type { paths } from './schema.gen.ts';
import { session, SESSION_HEADER } from './session.ts';
import type {
  BinaryAnswer,
  DiffAnswer,
  FlameSummary,
  LabelsAnswer,
  ReliabilityAnswer,
  StatusAnswer,
  SymbolsAnswer,
  TableAnswer,
} from './types.ts';

export interface TableQuery extends SelectionQuery {
  by: string;
  sort: Sort;
  limit: number;
  offset: number;
  find?: string;
}

const api = createClient<paths, 'application/json'>({ baseUrl: '/' });
api.use({ onRequest: ({ request }) => request.headers.set(SESSION_HEADER, session()) });

interface Reply<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

async function answerOf<T>(asked: Promise<Reply<T>>, signal: AbortSignal): Promise<T> {
  let reply: Reply<T>;
  try {
    reply = await asked;
  } catch (reason) {
    if (signal.aborted) throw reason;
    throw unreachable();
  }
  const { data, error, response } = reply;
  if (data === undefined) throw problemOf(response.status, response.headers.get('X-Request-ID'), error);
  return data;
}

export function askTable(query: TableQuery, signal: AbortSignal): Promise<TableAnswer> {
  return answerOf(api.GET('/api/v1/table', { params: { query }, signal }), signal);
}

export function askLabels(
  query: SelectionQuery & { find?: string },
  signal: AbortSignal,
): Promise<LabelsAnswer> {
  return answerOf(api.GET('/api/v1/labels', { params: { query }, signal }), signal);
}

export function askDiff(
  query: DiffQuery & { by: string; limit: number; share: 'self' | 'total' },
  signal: AbortSignal,
): Promise<DiffAnswer> {
  return answerOf(api.GET('/api/v1/diff', { params: { query }, signal }), signal);
}

export function askReliability(
  query: SelectionQuery & { by: string },
  signal: AbortSignal,
): Promise<ReliabilityAnswer> {
  return answerOf(api.GET('/api/v1/reliability', { params: { query }, signal }), signal);
}

export function askStatus(signal: AbortSignal): Promise<StatusAnswer> {
  return answerOf(api.GET('/api/v1/status', { signal }), signal);
}

export interface SymbolsQuery {
  show: 'missing' | 'all';
  sort: 'cpu' | 'unresolved' | 'samples' | 'machines' | 'name' | 'seen';
  limit: number;
  find?: string;
}

export function askSymbols(query: SymbolsQuery, signal: AbortSignal): Promise<SymbolsAnswer> {
  return answerOf(api.GET('/api/v1/symbols', { params: { query }, signal }), signal);
}

export function askBinary(key: string, signal: AbortSignal): Promise<BinaryAnswer> {
  return answerOf(api.GET('/api/v1/symbols/{key}', { params: { path: { key } }, signal }), signal);
}

/** Deletes a file with symbols; the next best file is used after that. */
export async function removeFile(key: string, sha256: string): Promise<void> {
  const { signal } = new AbortController();
  const path = { key, sha256 };
  await answerOf(api.DELETE('/api/v1/symbols/{key}/{sha256}', { params: { path }, signal }), signal);
}

export interface FlameQuery extends SelectionQuery {
  nodes: number;
  /** Share of the root's weight below which frames are cut off. */
  min_share?: number;
  /** Ids of the functions on the path to the subtree that is wanted, separated by commas. */
  root?: string;
}

export async function askFlame(query: FlameQuery, signal: AbortSignal): Promise<FlameAnswer<FlameSummary>> {
  prepareDecoding();
  const headers = { Accept: FLAME_MEDIA_TYPE };
  const asked = api.GET('/api/v1/flame', { params: { query }, headers, parseAs: 'arrayBuffer', signal });
  return decodeAside<FlameSummary>(await answerOf<ArrayBuffer>(asked, signal));
}
