/** Ends the session; the page then shows how to sign in again. The title of the button says who is signed in. */
import { useEffect, useState } from 'react';
import { currentSession, signOut, type CurrentSession } from '../api/session.ts';

export function SignOut() {
  const [failed, setFailed] = useState('');
  const [session, setSession] = useState<CurrentSession | null>(null);
  useEffect(() => {
    currentSession().then(setSession, () => setSession(null)); // the page's own requests report a failure
  }, []);
  const leave = (): void => {
    signOut().then(
      () => location.reload(),
      (error: Error) => setFailed(error.message),
    );
  };
  return (
    <>
      <button
        type="button"
        onClick={leave}
        title={session === null ? 'end this browser’s session' : describe(session)}
      >
        Sign out
      </button>
      {failed !== '' && (
        <span className="note" role="alert">
          You are still signed in. {failed}
        </span>
      )}
    </>
  );
}

function describe(session: CurrentSession): string {
  const until = session.ends_at === null ? '' : `, until ${new Date(session.ends_at).toLocaleString()}`;
  return `end this browser’s session: role ${session.role}${until}`;
}
