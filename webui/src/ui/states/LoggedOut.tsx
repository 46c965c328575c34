import { Command } from '../Command.tsx';

export function LoggedOut() {
  return (
    <main className="state alone">
      <h1>You are not logged in</h1>
      <p>
        Run <Command text="fleetprof url" /> where fleetprof runs, and open the address that it prints.
      </p>
      <p className="note">
        The address contains a token that works once. This browser then stays logged in until it sends no
        request for 12 hours, for a week at most.
      </p>
      <button type="button" className="primary" onClick={() => location.reload()}>
        Try again
      </button>
    </main>
  );
}
