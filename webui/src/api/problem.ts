const KINDS = 'urn:fleetprof:problem:';

/** Why a question to the API has no answer, in the server's own words (RFC 9457) where it had any. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';

  constructor(
    /** HTTP status; 0 when the server could not be reached. */
    readonly status: number,
    /** Names what went wrong for programs: `bad-selection`; empty if the status says it all. */
    readonly kind: string,
    /** One sentence: what went wrong. */
    message: string,
    /** What to change; empty if the server said nothing. */
    readonly hint: string,
    /** To be found again in the server's log; empty if there was none. */
    readonly requestId: string,
    /** The query parameter that is at fault; empty if it is no single one. */
    readonly parameter: string,
    /** Position of the mistake in it, in characters. */
    readonly at: number | null,
  ) {
    super(message);
  }

  get isLoggedOut(): boolean {
    return this.status === 401;
  }

  /** Asking again may help: the fault is on the way or in the server, not in the question. */
  get isPassing(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 429;
  }
}

export function unreachable(): ApiProblem {
  return new ApiProblem(
    0,
    '',
    'The server does not answer.',
    'Is fleetprof still running? Look at the terminal where it was started.',
    '',
    '',
    null,
  );
}

/** `body` is whatever came with the error status, decoded from JSON where it was JSON. */
export function problemOf(status: number, requestId: string | null, body: unknown): ApiProblem {
  const document = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const text = (name: string): string => (typeof document[name] === 'string' ? document[name] : '');
  const sentence = text('detail') || text('title') || `The server answered with status ${status}.`;
  const at = typeof document['at'] === 'number' ? document['at'] : null;
  const request = text('request_id') || (requestId ?? '');
  const kind = text('type').startsWith(KINDS) ? text('type').slice(KINDS.length) : '';
  return new ApiProblem(status, kind, sentence, text('hint'), request, text('parameter'), at);
}
