import { describe, expect, it } from 'vitest';
import { problemOf, unreachable } from '../../src/api/problem.ts';

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
    const problem = problemOf(400, 'r0', body);
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
    const problem = problemOf(502, null, '<html>');
    expect([problem.message, problem.hint, problem.kind, problem.at, problem.isPassing]).toEqual([
      'The server returned status 502.',
      '',
      '',
      null,
      true,
    ]);
  });

  it('are told apart by who must act', () => {
    expect(problemOf(401, null, null).isLoggedOut).toBe(true);
    expect(unreachable().isPassing).toBe(true);
  });
});
