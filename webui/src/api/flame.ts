/** Flame graphs in their binary form, decoded beside the page's thread. */
import { FLAME_MEDIA_TYPE, type FlameAnswer } from '../flame/decode.ts';
import { decodeAside, prepareDecoding } from '../flame/decodeAside.ts';
import type { SelectionQuery } from '../selection/selection.ts';
import { answerOf, api } from './client.ts';
import type { FlameSummary } from './types.ts';

export interface FlameQuery extends SelectionQuery {
  nodes: number;
  /** Share of the root's weight below which frames are cut off. */
  min_share?: number;
  /** Ids of the functions on the path to the subtree that is wanted, separated by commas. */
  root?: string;
}

export async function readFlame(query: FlameQuery, signal: AbortSignal): Promise<FlameAnswer<FlameSummary>> {
  prepareDecoding();
  const headers = { Accept: FLAME_MEDIA_TYPE };
  const reply = api.GET('/api/v1/flame', { params: { query }, headers, parseAs: 'arrayBuffer', signal });
  return decodeAside<FlameSummary>(await answerOf<ArrayBuffer>(reply, signal));
}
