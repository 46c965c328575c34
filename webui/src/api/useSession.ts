/** Who is signed in, and what the role allows. */
import { includes, type Role } from './session.ts';
import { useAnswer } from './useAnswer.ts';

const REFRESH_MS = 300_000;

export function useSession() {
  return useAnswer('/api/v1/session', {}, { every: REFRESH_MS });
}

/** Why an action that needs this role is not offered; empty: it is allowed. */
export function useReasonAgainst(least: Role): string {
  const { data } = useSession();
  if (data === undefined) return 'Your role is not known yet.';
  return includes(data.role, least) ? '' : `This needs the role ${least}; your role is ${data.role}.`;
}
