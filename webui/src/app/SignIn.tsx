/** The page of a browser without a session: sign-in by an API token or by a login link. */
import { useEffect, useState, type FormEvent } from 'react';
import { ApiProblem } from '../api/problem.ts';
import { keepAddress, onSignInElsewhere, signIn, signInWays } from '../api/session.ts';
import '../styles/sign-in.css';
import { Command } from '../ui/Command.tsx';
import { Brand } from './Brand.tsx';
import { useTheme } from './useTheme.ts';

export function SignIn() {
  useTheme();
  useEffect(() => {
    document.title = 'Sign in – fleetprof';
    keepAddress();
    return onSignInElsewhere(() => location.reload());
  }, []);
  return (
    <div className="sign-in">
      <header>
        <Brand />
      </header>
      <main>
        <h1>Sign in</h1>
        <TokenForm />
        <LinkAdvice />
        <p className="note">
          This browser stays signed in until it sends no request for 12 hours, for a week at most.
        </p>
      </main>
    </div>
  );
}

function TokenForm() {
  const [token, setToken] = useState('');
  const [isWaiting, setWaiting] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setWaiting(true);
    setProblem(null);
    signIn(token.trim()).then(
      () => location.reload(), // the same address, now with data
      (error: ApiProblem) => {
        setProblem(error);
        setWaiting(false);
      },
    );
  };
  return (
    <form onSubmit={submit}>
      <label htmlFor="token">Token</label>
      <div className="row">
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          maxLength={500}
          value={token}
          onChange={(event) => setToken(event.target.value)}
          aria-describedby="token-problem"
          aria-invalid={problem !== null}
          autoFocus
        />
        <button type="submit" className="primary" disabled={isWaiting || token.trim() === ''}>
          Sign in
        </button>
      </div>
      <p id="token-problem" role="alert">
        {problem !== null && `${problem.message} ${problem.hint}`}
      </p>
    </form>
  );
}

function LinkAdvice() {
  const [command, setCommand] = useState<string | null | undefined>(undefined);
  useEffect(() => {
    signInWays().then(
      (ways) => setCommand(ways.command),
      () => setCommand(null),
    );
  }, []);
  if (command === undefined) return null;
  return (
    <section aria-label="login link">
      <h2>Or open a login link</h2>
      {command === null ? (
        <p>Run this command with an API token in FLEETPROF_TOKEN, and open the address that it prints:</p>
      ) : (
        <p>Run this command where fleetprof runs, and open the address that it prints:</p>
      )}
      <p>
        <Command text={command ?? `fleetprof url --api ${location.origin}`} />
      </p>
      <p className="note">The address works once, within 12 hours.</p>
    </section>
  );
}
