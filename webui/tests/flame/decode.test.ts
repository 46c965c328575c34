import { describe, expect, it } from 'vitest';
import { decodeFlame } from '../../src/flame/decode.ts';
import { BadFlame } from '../../src/flame/tree.ts';
import { columns } from './grow.ts';

const COLUMNS = columns(100, [
  [0, 'größe', 60],
  [1, 'λ', 60],
]);

/** What the server writes, built here by hand from the layout in decode.ts. */
function encode(): ArrayBuffer {
  const json = new TextEncoder().encode(
    JSON.stringify({ functions: COLUMNS.functions, pruned: { nodes: 3, share: 0.01 } }),
  );
  const padded = Math.ceil(json.length / 8) * 8;
  const n = COLUMNS.total.length;
  const buffer = new ArrayBuffer(16 + padded + 24 * n);
  const view = new DataView(buffer);
  new Uint8Array(buffer).set(new TextEncoder().encode('FPFL'));
  [1, n, padded].forEach((v, k) => view.setUint32(4 + 4 * k, v, true));
  new Uint8Array(buffer, 16, padded).fill(0x20).set(json);
  const at = 16 + padded;
  for (let i = 0; i < n; i++) {
    view.setFloat64(at + 8 * i, COLUMNS.total[i], true);
    view.setFloat64(at + 8 * (n + i), COLUMNS.self[i], true);
    view.setInt32(at + 16 * n + 4 * i, COLUMNS.parent[i], true);
    view.setInt32(at + 20 * n + 4 * i, COLUMNS.func[i], true);
  }
  return buffer;
}

describe('decodeFlame', () => {
  it('reads what the server writes', () => {
    const { head, tree } = decodeFlame(encode());
    expect(head.pruned).toEqual({ nodes: 3, share: 0.01 });
    expect(tree.functions.map((f) => f.name)).toEqual(['größe', 'λ']);
    expect([...tree.total]).toEqual([100, 60, 60]);
    expect([...tree.self]).toEqual([40, 0, 60]);
    expect([...tree.parent]).toEqual([-1, 0, 1]);
    expect([...tree.func]).toEqual([-1, 0, 1]);
  });

  it('does not copy the columns', () => {
    const buffer = encode();
    expect(decodeFlame(buffer).tree.total.buffer).toBe(buffer);
  });

  it.each([
    ['nothing', (_: DataView) => new ArrayBuffer(0), /only 0 bytes/],
    ['a web page', (_) => new TextEncoder().encode('<!doctype html><html>…').buffer, /not a flame graph/],
    ['a later version', (v) => (v.setUint32(4, 2, true), v.buffer), /version 2/],
    ['more nodes than bytes', (v) => (v.setUint32(8, 4, true), v.buffer), /bytes/],
    ['absurdly many nodes', (v) => (v.setUint32(8, 0xffffffff, true), v.buffer), /too large/],
    ['names beyond the end', (v) => (v.setUint32(12, 1 << 20, true), v.buffer), /bytes/],
    [
      'names that are not aligned',
      (v) => (v.setUint32(12, v.getUint32(12, true) - 4, true), v.buffer),
      /not aligned/,
    ],
    ['names that are not JSON', (v) => (v.setUint8(16, 0x21), v.buffer), /not readable/],
    ['names that are not UTF-8', (v) => (v.setUint8(30, 0xff), v.buffer), /not readable/],
    ['a cut transfer', (v) => v.buffer.slice(0, -1) as ArrayBuffer, /bytes/],
  ] as const satisfies readonly (readonly [string, (v: DataView<ArrayBuffer>) => ArrayBuffer, RegExp])[])(
    'refuses %s',
    (_, spoil, reason) => {
      const spoilt = spoil(new DataView(encode()));
      expect(() => decodeFlame(spoilt)).toThrow(reason);
      expect(() => decodeFlame(spoilt)).toThrow(BadFlame);
    },
  );

  it('survives any single damaged byte: a tree or BadFlame, nothing else', () => {
    const whole = encode();
    for (let at = 0; at < whole.byteLength; at++) {
      const damaged = whole.slice(0);
      new Uint8Array(damaged)[at] ^= 0x91;
      try {
        decodeFlame(damaged);
      } catch (reason) {
        expect(reason).toBeInstanceOf(BadFlame);
      }
    }
  });
});
