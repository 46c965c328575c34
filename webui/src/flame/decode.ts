/**
 * The binary form of `/api/v1/flame`, little-endian:
 *
 *     "FPFL"  u32 version = 3  u32 n nodes  u32 f functions  u32 j bytes of JSON  u32 0
 *     JSON, utf-8, padded with spaces to a multiple of 8
 *     f64 total[n]  f64 self[n]  f64 effective[f]  i32 back[n]  i32 function[n]
 *     i32 id[f]  i32 file[f]  i32 binary[f]  i32 status[f]  i32 kind[f]  i32 label[f]
 *
 * A node's parent is `back` nodes before it; the root's `back` is 0.
 * The JSON has the functions' `names`, and the `texts` that the columns from `file` on index. The
 * nodes' columns are views into the response's buffer, without copies.
 */
import { BadFlame, shapeOf, type FlameFunction, type FlameShape, type FlameTree } from './tree.ts';

export const FLAME_MEDIA_TYPE = 'application/vnd.fleetprof.flame';

const MAGIC = 0x4c465046; // "FPFL"
const VERSION = 3;
const HEADER = 24;
const BYTES_PER_NODE = 24;
const BYTES_PER_FUNCTION = 32;
/** A larger tree would exceed the browser's memory; the server prunes far below it. */
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

/** The functions in columns: six thousand objects would take longer to copy between threads than to decode. */
export interface FunctionColumns {
  names: string[];
  texts: string[];
  effective: Float64Array;
  id: Int32Array;
  /** Positions in `texts`, as the following ones. */
  file: Int32Array;
  binary: Int32Array;
  status: Int32Array;
  kind: Int32Array;
}

/** A decoded answer as one thread sends it to another. */
export interface DecodedFlame {
  head: Omit<FlameHead, 'functions'>;
  functions: FunctionColumns;
  shape: FlameShape;
}

/** The response's JSON as transferred. */
type Sent = Omit<FlameHead, 'functions'> & Pick<FunctionColumns, 'names' | 'texts'>;

/** Throws BadFlame if the buffer does not match its header. */
export function decodeFlame<Head extends FlameHead>(buffer: ArrayBuffer): FlameAnswer<Head> {
  return answerOf<Head>(decodeColumns(buffer));
}

export function answerOf<Head extends FlameHead>(decoded: DecodedFlame): FlameAnswer<Head> {
  const tree = { functions: functionsOf(decoded.functions), ...decoded.shape };
  return { head: decoded.head as unknown as Omit<Head, 'functions'>, tree };
}

function functionsOf(columns: FunctionColumns): FlameFunction[] {
  const { names, texts, effective, id, file, binary, status, kind } = columns;
  return names.map((name, k) => ({
    id: id[k],
    name,
    file: texts[file[k]],
    binary: texts[binary[k]],
    status: texts[status[k]] as FlameFunction['status'],
    kind: texts[kind[k]] as FlameFunction['kind'],
    effective: Number.isNaN(effective[k]) ? null : effective[k],
  }));
}

/** The columns of a response, checked. Throws BadFlame if the buffer does not match its header. */
export function decodeColumns(buffer: ArrayBuffer): DecodedFlame {
  if (buffer.byteLength < HEADER) throw new BadFlame(`the flame graph has only ${buffer.byteLength} bytes`);
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new BadFlame('the response is not a flame graph');
  const version = view.getUint32(4, true);
  if (version !== VERSION)
    throw new BadFlame(`flame graph version ${version}; this page reads version ${VERSION}: reload it`);
  const n = view.getUint32(8, true);
  const f = view.getUint32(12, true);
  const jsonBytes = view.getUint32(16, true);
  if (n > MAX_NODES || f > MAX_NODES || jsonBytes > MAX_JSON_BYTES)
    throw new BadFlame(`a flame graph of ${n} nodes is too large to draw`);
  if (jsonBytes % 8 !== 0) throw new BadFlame('the flame graph is not aligned');
  const expected = HEADER + jsonBytes + BYTES_PER_NODE * n + BYTES_PER_FUNCTION * f;
  if (buffer.byteLength !== expected) {
    throw new BadFlame(`the flame graph has ${buffer.byteLength} of ${expected} bytes`);
  }

  const { names, texts, ...head } = parseHead(new Uint8Array(buffer, HEADER, jsonBytes));
  let offset = HEADER + jsonBytes;
  const floats = (length: number) => {
    const column = new Float64Array(buffer, offset, length);
    offset += column.byteLength;
    return column;
  };
  const integers = (length: number) => {
    const column = new Int32Array(buffer, offset, length);
    offset += column.byteLength;
    return column;
  };
  const total = floats(n);
  const self = floats(n);
  const effective = floats(f);
  const parent = integers(n);
  for (let i = 0; i < n; i++) parent[i] = i === 0 ? -1 : i - parent[i];
  const func = integers(n);
  const [id, file, binary, status, kind] = Array.from({ length: 5 }, () => integers(f));
  if (names.length !== f)
    throw new BadFlame(`the flame graph has names for ${names.length} of ${f} functions`);

  for (const column of [file, binary, status, kind]) {
    const bad = column.find((at) => !(at >= 0 && at < texts.length));
    if (bad !== undefined) throw new BadFlame(`the flame graph has no text ${bad}`);
  }
  const shape = shapeOf({ func, parent, total, self }, f);
  return { head, functions: { names, texts, effective, id, file, binary, status, kind }, shape };
}

function parseHead(bytes: Uint8Array): Sent {
  let head: unknown;
  try {
    head = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new BadFlame("the flame graph's names are not readable");
  }
  if (typeof head !== 'object' || head === null) throw new BadFlame('the flame graph has no names');
  const { names, texts } = head as Partial<Sent>;
  if (!Array.isArray(names) || !Array.isArray(texts)) throw new BadFlame('the flame graph has no names');
  return head as Sent;
}
