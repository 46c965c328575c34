/**
 * Decoding in another thread: the messages of both sides. decodeWorker.ts is one end, decodeAside.ts the other.
 *
 * The response's buffer is transferred to the worker, and with it the finished columns back: no copy.
 */
import { answerOf, decodeColumns, type DecodedFlame, type FlameAnswer, type FlameHead } from './decode.ts';
import { BadFlame } from './tree.ts';

interface Request {
  id: number;
  buffer: ArrayBuffer;
}

type Reply =
  | { id: number; decoded: DecodedFlame }
  /** `bad`: the response is no flame graph. */
  | { id: number; problem: string; bad: boolean };

/** The worker can decode; sent once. */
const READY = 'ready';

/** A worker as the page sees it, the page as the worker does, or an end of a MessageChannel. */
export interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}

/** Decode whatever arrives at this port. */
export function serveDecoding(port: Port): void {
  port.addEventListener('message', ({ data }: MessageEvent<Request>) => {
    const { id, buffer } = data;
    try {
      const decoded = decodeColumns(buffer);
      const { cut, start, end, depth } = decoded.shape;
      const columns = [cut, start, end, depth].map((c) => c.buffer as ArrayBuffer);
      port.postMessage({ id, decoded } satisfies Reply, [buffer, ...columns]);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      port.postMessage({ id, problem, bad: error instanceof BadFlame } satisfies Reply, []);
    }
  });
  port.postMessage(READY, []);
}

/** Requests to a port that `serveDecoding` serves. */
export class Decoder {
  /** Resolves when the other side is ready. */
  readonly ready: Promise<void>;
  private readonly waiting = new Map<number, { resolve(reply: Reply): void; reject(reason: Error): void }>();
  private latest = 0;

  constructor(private readonly port: Port) {
    this.ready = new Promise((resolve) => {
      port.addEventListener('message', ({ data }: MessageEvent<Reply | typeof READY>) => {
        if (data === READY) resolve();
        else {
          this.waiting.get(data.id)?.resolve(data);
          this.waiting.delete(data.id);
        }
      });
    });
  }

  /** Takes the buffer: it is empty afterwards. Throws BadFlame as decodeFlame does. */
  async decode<Head extends FlameHead>(buffer: ArrayBuffer): Promise<FlameAnswer<Head>> {
    const id = ++this.latest;
    const reply = await new Promise<Reply>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.port.postMessage({ id, buffer } satisfies Request, [buffer]);
    });
    if ('problem' in reply) throw reply.bad ? new BadFlame(reply.problem) : new Error(reply.problem);
    return answerOf<Head>(reply.decoded);
  }

  /** The other side is gone: all that waits fails. */
  fail(reason: string): void {
    for (const { reject } of this.waiting.values()) reject(new Error(reason));
    this.waiting.clear();
  }
}
