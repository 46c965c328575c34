/** Ends the session; the page then shows how to log in again. */
import { useState } from 'react';
import { signOut } from '../api/session.ts';

export function SignOut() {
  const [failed, setFailed] = useState('');
  const leave = (): void => {
    signOut().then(
      () => location.reload(),
      (error: Error) => setFailed(error.message),
    );
  };
  return (
    <>
      <button type="button" onClick={leave} title="end this browser’s session">
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
