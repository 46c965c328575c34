/**
 * The binary form of `/api/v1/flame`, little-endian:
 *
 *     "FPFL"  u32 version = 1  u32 n nodes  u32 j bytes of JSON
 *     JSON, utf-8, padded with spaces to a multiple of 8
 *     f64 total[n]  f64 self[n]  i32 parent[n]  i32 function[n]
 *
 * The columns are views into the answer's own buffer: nothing is copied.
 */
import { BadFlame, plant, type FlameFunction, type FlameTree } from './tree.ts';

export const FLAME_MEDIA_TYPE = 'application/vnd.fleetprof.flame';

const MAGIC = 0x4c465046; // "FPFL"
const HEADER = 16;
const BYTES_PER_NODE = 24;
/** Beyond this the browser could not hold the tree; the server prunes far below it. */
const MAX_NODES = 4_000_000;
const MAX_JSON_BYTES = 256 * 1024 * 1024;

export interface FlameHead {
  functions: FlameFunction[];
  pruned: { nodes: number; share: number };
}

export interface FlameAnswer<Head extends FlameHead = FlameHead> {
  head: Omit<Head, 'functions'>;
  tree: FlameTree;
}

/** Throws BadFlame where the buffer is not what its header says. */
export function decodeFlame<Head extends FlameHead>(buffer: ArrayBuffer): FlameAnswer<Head> {
  if (buffer.byteLength < HEADER) throw new BadFlame(`a flame graph of only ${buffer.byteLength} bytes`);
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new BadFlame('the answer is not a flame graph');
  const version = view.getUint32(4, true);
  if (version !== 1)
    throw new BadFlame(`flame graph version ${version}; this page reads version 1: reload it`);
  const n = view.getUint32(8, true);
  const jsonBytes = view.getUint32(12, true);
  if (n > MAX_NODES || jsonBytes > MAX_JSON_BYTES)
    throw new BadFlame(`a flame graph of ${n} nodes is too large to draw`);
  if (jsonBytes % 8 !== 0) throw new BadFlame('the flame graph is not aligned');
  const expected = HEADER + jsonBytes + BYTES_PER_NODE * n;
  if (buffer.byteLength !== expected) {
    throw new BadFlame(`the flame graph has ${buffer.byteLength} of ${expected} bytes`);
  }

  const { functions, ...head } = parseHead<Head>(new Uint8Array(buffer, HEADER, jsonBytes));
  let offset = HEADER + jsonBytes;
  const total = new Float64Array(buffer, offset, n);
  offset += 8 * n;
  const self = new Float64Array(buffer, offset, n);
  offset += 8 * n;
  const parent = new Int32Array(buffer, offset, n);
  offset += 4 * n;
  const func = new Int32Array(buffer, offset, n);
  return { head, tree: plant({ functions, func, parent, total, self }) };
}

function parseHead<Head extends FlameHead>(bytes: Uint8Array): Head {
  let head: unknown;
  try {
    head = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new BadFlame("the flame graph's names are not readable");
  }
  if (typeof head !== 'object' || head === null || !Array.isArray((head as Partial<Head>).functions)) {
    throw new BadFlame('the flame graph has no names');
  }
  return head as Head;
}
