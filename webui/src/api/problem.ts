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
  ) {
    super(message);
  }

  get isLoggedOut(): boolean {
    return this.status === 401;
  }

  /** A retry may succeed: the fault is in the network or the server, not in the request. */
  get isPassing(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 429;
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

/** `body` is the body of the error response, decoded if it was JSON. */
export function problemOf(status: number, requestId: string | null, body: unknown): ApiProblem {
  const document = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const text = (name: string): string => (typeof document[name] === 'string' ? document[name] : '');
  const sentence = text('detail') || text('title') || `The server returned status ${status}.`;
  const at = typeof document['at'] === 'number' ? document['at'] : null;
  const request = text('request_id') || (requestId ?? '');
  const kind = text('type').startsWith(KINDS) ? text('type').slice(KINDS.length) : '';
  return new ApiProblem(status, kind, sentence, text('hint'), request, text('parameter'), at);
}
