const KINDS = 'urn:fleetprof:problem:';

/** Why an API request failed, with the server's text (RFC 9457) if it sent one. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';

  constructor(
    /** HTTP status; 0 when the server could not be reached. */
    readonly status: number,
    /** Machine-readable type: `bad-selection`; empty if the status is sufficient. */
    readonly kind: string,
    /** The problem in one sentence. */
    message: string,
    /** What to change; empty if the server sent no hint. */
    readonly hint: string,
    /** Identifies the request in the server's log; empty if there was none. */
    readonly requestId: string,
    /** The query parameter at fault; empty if it is not a single one. */
    readonly parameter: string,
    /** Position of the error in it, in characters. */
    readonly at: number | null,
    /** Seconds after which the server wants the request again; null if it named none. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }

  get isLoggedOut(): boolean {
    return this.status === 401;
  }

  /** The server stopped the query at its time limit: only a smaller question helps. */
  get isTooSlow(): boolean {
    return this.kind === 'too-slow';
  }

  /** A retry may succeed: the fault is in the network or the server, not in the request. */
  get isPassing(): boolean {
    if (this.isTooSlow) return false;
    return [0, 429, 502, 504].includes(this.status) || (this.status === 503 && this.retryAfter !== null);
  }
}

export function unreachable(): ApiProblem {
  return new ApiProblem(
    0,
    '',
    'The server is unreachable.',
    'Check in the terminal where fleetprof was started that it still runs.',
    '',
    '',
    null,
  );
}

/** What is needed of a Response or of an XMLHttpRequest. */
interface Failed {
  status: number;
  headers: { get(name: string): string | null };
}

/** `body` is the body of the error response, decoded if it was JSON. */
export function problemOf({ status, headers }: Failed, body: unknown): ApiProblem {
  const document = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const text = (name: string): string => (typeof document[name] === 'string' ? document[name] : '');
  const sentence = text('detail') || text('title') || `The server returned status ${status}.`;
  const at = typeof document['at'] === 'number' ? document['at'] : null;
  const request = text('request_id') || (headers.get('X-Request-ID') ?? '');
  const kind = text('type').startsWith(KINDS) ? text('type').slice(KINDS.length) : '';
  const after = Number(headers.get('Retry-After') ?? Number.NaN);
  const retryAfter = after >= 0 ? after : null;
  return new ApiProblem(status, kind, sentence, text('hint'), request, text('parameter'), at, retryAfter);
}
