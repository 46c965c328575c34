/** Whether the server has rejected the session. Any request of any page may find out. */
import { useSyncExternalStore } from 'react';
import { ApiProblem } from '../api/problem.ts';

let signedOut = false;
const listeners = new Set<() => void>();

/** Looks at a failed request. */
export function noticeSignedOut(error: Error): void {
  if (signedOut || !(error instanceof ApiProblem && error.isLoggedOut)) return;
  signedOut = true;
  for (const listener of listeners) listener();
}

export function useSignedOut(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => signedOut,
  );
}
