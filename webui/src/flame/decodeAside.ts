/** Decodes flame graphs in a worker, so that the page answers clicks meanwhile; without workers, in the page. */
import { decodeFlame, type FlameAnswer, type FlameHead } from './decode.ts';
import { Decoder } from './decodeService.ts';

/** A worker that has not begun by then (a blocked script, a broken proxy) is given up. */
const PATIENCE_MS = 3000;

let started: Promise<Decoder | null> | undefined;

/** Start the worker, if it is not running: before a request, so that it is ready when the response arrives. */
export function prepareDecoding(): void {
  started ??= start();
}

/** Takes the buffer: it is empty afterwards. Throws BadFlame if it is no flame graph. */
export async function decodeAside<Head extends FlameHead>(buffer: ArrayBuffer): Promise<FlameAnswer<Head>> {
  prepareDecoding();
  const decoder = await started!;
  return decoder === null ? decodeFlame<Head>(buffer) : decoder.decode<Head>(buffer);
}

function start(): Promise<Decoder | null> {
  return new Promise((resolve) => {
    let worker: Worker;
    try {
      worker = new Worker(new URL('./decodeWorker.ts', import.meta.url), { type: 'module' });
    } catch {
      resolve(null); // workers are forbidden
      return;
    }
    const decoder = new Decoder(worker);
    const giveUp = (): void => {
      worker.terminate();
      decoder.fail('The flame graph could not be decoded in the background. Try again.');
      started = Promise.resolve(null);
      resolve(null);
    };
    const timer = setTimeout(giveUp, PATIENCE_MS);
    worker.addEventListener('error', giveUp);
    void decoder.ready.then(() => {
      clearTimeout(timer);
      resolve(decoder);
    });
  });
}
