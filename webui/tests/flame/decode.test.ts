import { describe, expect, it } from 'vitest';
import { decodeFlame } from '../../src/flame/decode.ts';
import { BadFlame } from '../../src/flame/tree.ts';
import { encode as encodeColumns } from './encode.ts';
import { columns } from './grow.ts';

const COLUMNS = columns(100, [
  [0, 'größe', 60],
  [1, 'λ', 60],
]);
COLUMNS.functions.forEach((f, k) => Object.assign(f, { file: 'm.c', effective: [null, 12.5][k] }));

function encode(): ArrayBuffer {
  return encodeColumns(COLUMNS, { pruned: { nodes: 3, share: 0.01 } });
}

/** The first name and the comma behind it become spaces. */
function fewerNames(view: DataView<ArrayBuffer>): ArrayBuffer {
  const from = 24 + '{"names":['.length;
  const length = new TextEncoder().encode('"größe",').length;
  new Uint8Array(view.buffer, from, length).fill(0x20);
  return view.buffer;
}

describe('decodeFlame', () => {
  it('reads what the server writes', () => {
    const { head, tree } = decodeFlame(encode());
    expect(head.pruned).toEqual({ nodes: 3, share: 0.01 });
    const rest = { file: 'm.c', binary: 'app', status: 'full', kind: 'user' };
    expect(tree.functions).toEqual([
      { id: 100, name: 'größe', ...rest, effective: null },
      { id: 101, name: 'λ', ...rest, effective: 12.5 },
    ]);
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
    ['an older version', (v) => (v.setUint32(4, 1, true), v.buffer), /version 1;/],
    ['layouts that were both called 2', (v) => (v.setUint32(4, 2, true), v.buffer), /version 2;/],
    ['a later version', (v) => (v.setUint32(4, 4, true), v.buffer), /version 4;/],
    ['more nodes than bytes', (v) => (v.setUint32(8, 4, true), v.buffer), /bytes/],
    ['absurdly many nodes', (v) => (v.setUint32(8, 0xffffffff, true), v.buffer), /too large/],
    ['absurdly many functions', (v) => (v.setUint32(12, 0xffffffff, true), v.buffer), /too large/],
    ['names beyond the end', (v) => (v.setUint32(16, 1 << 20, true), v.buffer), /bytes/],
    ['a file that is no text', (v) => (v.setInt32(v.byteLength - 40, 9, true), v.buffer), /no text 9/],
    ['fewer names than functions', fewerNames, /has names for 1 of 2/],
    [
      'names that are not aligned',
      (v) => (v.setUint32(16, v.getUint32(16, true) - 4, true), v.buffer),
      /not aligned/,
    ],
    ['names that are not JSON', (v) => (v.setUint8(24, 0x21), v.buffer), /not readable/],
    ['names that are not UTF-8', (v) => (v.setUint8(38, 0xff), v.buffer), /not readable/],
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
