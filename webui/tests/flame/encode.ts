import type { FlameColumns } from '../../src/flame/tree.ts';

/** What the server writes, built by hand from the layout in decode.ts. `head`: the JSON beside names and texts. */
export function encode(columns: FlameColumns, head: object): ArrayBuffer {
  const { functions } = columns;
  const of = (f: (typeof functions)[number]): string[] => [f.file, f.binary, f.status, f.kind];
  const texts = [...new Set([0, 1, 2, 3].flatMap((k) => functions.map((f) => of(f)[k])))];
  const names = functions.map(({ name }) => name);
  const json = new TextEncoder().encode(JSON.stringify({ names, texts, ...head }));
  const padded = Math.ceil(json.length / 8) * 8;
  const n = columns.total.length;
  const f = functions.length;
  const buffer = new ArrayBuffer(24 + padded + 24 * n + 32 * f);
  const view = new DataView(buffer);
  new Uint8Array(buffer).set(new TextEncoder().encode('FPFL'));
  [3, n, f, padded, 0].forEach((v, k) => view.setUint32(4 + 4 * k, v, true));
  new Uint8Array(buffer, 24, padded).fill(0x20).set(json);
  let at = 24 + padded;
  const floats = (values: Iterable<number>): void => {
    for (const value of values) {
      view.setFloat64(at, value, true);
      at += 8;
    }
  };
  const integers = (values: Iterable<number>): void => {
    for (const value of values) {
      view.setInt32(at, value, true);
      at += 4;
    }
  };
  floats(columns.total);
  floats(columns.self);
  floats(functions.map(({ effective }) => effective ?? NaN));
  integers(columns.parent.map((parent, i) => (i === 0 ? 0 : i - parent)));
  integers(columns.func);
  integers(functions.map(({ id }) => id));
  for (const k of [0, 1, 2, 3]) integers(functions.map((one) => texts.indexOf(of(one)[k])));
  integers(functions.map(() => -1));
  return buffer;
}
