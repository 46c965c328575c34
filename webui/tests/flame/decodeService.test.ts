import { afterEach, expect, it } from 'vitest';
import { Decoder, serveDecoding, type Port } from '../../src/flame/decodeService.ts';
import { decodeFlame } from '../../src/flame/decode.ts';
import { findNode, nodeKey } from '../../src/flame/identity.ts';
import { BadFlame } from '../../src/flame/tree.ts';
import { encode } from './encode.ts';
import { randomTree } from './grow.ts';

const channels: MessageChannel[] = [];
afterEach(() => channels.splice(0).forEach((channel) => channel.port1.close()));

/** Both sides, connected as a page and its worker are: messages are copied or transferred. */
function connected(): Decoder {
  const channel = new MessageChannel();
  channels.push(channel);
  const decoder = new Decoder(channel.port1 as Port);
  serveDecoding(channel.port2 as Port);
  channel.port1.start();
  channel.port2.start();
  return decoder;
}

it('is ready, and answers what decodeFlame does', async () => {
  const decoder = connected();
  await decoder.ready;
  const whole = randomTree(3, 800);
  const { tree, head } = await decoder.decode(encode(whole, { pruned: { nodes: 3, share: 0.01 } }));
  const here = decodeFlame(encode(whole, { pruned: { nodes: 3, share: 0.01 } }));
  expect(head).toEqual(here.head);
  expect(tree).toEqual(here.tree);
  expect(findNode(tree, nodeKey(here.tree, tree.n - 1))).toBe(tree.n - 1);
});

it('takes the buffer instead of copying it', async () => {
  const buffer = encode(randomTree(3, 800), {});
  await connected().decode(buffer);
  expect(buffer.byteLength).toBe(0);
});

it('matches answers to requests', async () => {
  const decoder = connected();
  const trees = [randomTree(3, 800), randomTree(3, 100), randomTree(3, 300)];
  const answers = await Promise.all(trees.map((t) => decoder.decode(encode(t, {}))));
  expect(answers.map(({ tree }) => tree.n)).toEqual(trees.map((t) => t.n));
});

it('refuses what is no flame graph', async () => {
  await expect(connected().decode(new ArrayBuffer(50))).rejects.toThrow(BadFlame);
});

it('fails what waits when the worker is gone', async () => {
  const decoder = new Decoder(new MessageChannel().port1 as Port); // nothing answers
  const waiting = decoder.decode(encode(randomTree(3, 100), {}));
  decoder.fail('gone');
  await expect(waiting).rejects.toThrow('gone');
});
