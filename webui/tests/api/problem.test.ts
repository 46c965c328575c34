import { describe, expect, it } from 'vitest';
import { unreachable } from '../../src/api/problem.ts';
import { problem as failed } from './failed.ts';

describe('problems', () => {
  it("speak the server's words", () => {
    const body = {
      type: 'urn:fleetprof:problem:bad-selection',
      title: 'Bad selection',
      detail: 'Expected a comma.',
      hint: 'Write one.',
      request_id: 'r1',
      parameter: 'focus',
      at: 7,
    };
    const problem = failed(400, body, { 'X-Request-ID': 'r0' });
    expect([problem.message, problem.hint, problem.requestId, problem.parameter, problem.at]).toEqual([
      'Expected a comma.',
      'Write one.',
      'r1',
      'focus',
      7,
    ]);
    expect(problem.kind).toBe('bad-selection');
    expect(problem.isPassing).toBe(false);
  });

  it('make do with whatever a proxy sends', () => {
    const problem = failed(502, '<html>');
    expect([problem.message, problem.hint, problem.kind, problem.at, problem.isPassing]).toEqual([
      'The server returned status 502.',
      '',
      '',
      null,
      true,
    ]);
  });

  it('may pass if the server says when, or if nothing answered', () => {
    const slow = { type: 'urn:fleetprof:problem:too-slow' };
    expect(failed(503, {}, { 'Retry-After': '5' })).toMatchObject({ isPassing: true, retryAfter: 5 });
    expect(failed(503, {})).toMatchObject({ isPassing: false, retryAfter: null });
    expect(failed(503, slow, { 'Retry-After': '5' })).toMatchObject({ isPassing: false, isTooSlow: true });
    expect(failed(500, {}).isPassing).toBe(false);
    expect(failed(429, {}).isPassing).toBe(true);
  });

  it('are told apart by who must act', () => {
    expect(failed(401, null).isLoggedOut).toBe(true);
    expect(unreachable().isPassing).toBe(true);
  });
});
