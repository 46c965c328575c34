/** Profiles this machine on request, and shows the progress until the profile can be opened. */
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { answerOf, api } from '../../api/client.ts';
import { ApiProblem } from '../../api/problem.ts';
import type { MachineAnswer, RequestedVisit } from '../../api/types.ts';
import { useReasonAgainst } from '../../api/useSession.ts';
import { ProblemText } from '../../views/fleet/ProblemText.tsx';
import { ProfileProgress } from './ProfileProgress.tsx';

interface Props {
  machine: MachineAnswer;
  /** Id of the requested profile; empty: none. */
  visit: string;
  onRequested: (visit: string) => void;
}

const SECONDS = { least: 0.1, most: 600, initial: 10 };
const RATE = { least: 1, most: 999, initial: 99 };

export function ProfileNow({ machine, visit, onRequested }: Props) {
  const reason = useReasonAgainst('operator');
  const [event, setEvent] = useState('cpu');
  const [seconds, setSeconds] = useState(String(SECONDS.initial));
  const [rate, setRate] = useState(String(RATE.initial));
  const request = useMutation({
    mutationFn: () =>
      answerOf<RequestedVisit>(
        api.POST('/api/v1/visits', {
          body: {
            machine: machine.name,
            event,
            duration_s: Number(seconds),
            rate_hz: Number(rate),
            period: 0,
          },
        }),
      ),
    onSuccess: (requested) => onRequested(requested.visit_id),
  });
  const against = reason || (machine.enabled ? '' : 'The machine is disabled, so it cannot be profiled.');
  const submit = (submitted: FormEvent): void => {
    submitted.preventDefault();
    request.mutate();
  };
  const events = machine.events.filter(({ use }) => use === 'sampled').map((known) => known.event);
  if (!events.includes('cpu')) events.unshift('cpu');
  const wrong = request.error instanceof ApiProblem ? request.error.parameter : '';
  return (
    <section className="panel" aria-label="profile this machine now">
      <h2>Profile now</h2>
      <div className="panel-body">
        <form className="form-grid" onSubmit={submit}>
          <label className="field">
            Event
            <select
              value={event}
              onChange={(changed) => setEvent(changed.target.value)}
              aria-invalid={wrong === 'event'}
            >
              {events.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label className="field">
            Seconds
            <input
              type="number"
              required
              step="any"
              min={SECONDS.least}
              max={SECONDS.most}
              value={seconds}
              onChange={(changed) => setSeconds(changed.target.value)}
              aria-invalid={wrong === 'duration_s'}
            />
          </label>
          <label className="field">
            Samples per second and CPU
            <input
              type="number"
              required
              step="any"
              min={RATE.least}
              max={RATE.most}
              value={rate}
              onChange={(changed) => setRate(changed.target.value)}
              aria-invalid={wrong === 'rate_hz'}
            />
          </label>
          <p className="wide form-actions">
            <button
              type="submit"
              className="primary"
              disabled={against !== '' || request.isPending}
              aria-describedby="profile-now-note"
            >
              Profile this machine now
            </button>
            <span id="profile-now-note" className="note">
              {against || 'It belongs to the campaign by-hand, so it changes no result of the fleet.'}
            </span>
          </p>
        </form>
        <ProblemText error={request.error} />
        {visit !== '' && !request.isPending && <ProfileProgress visit={visit} machine={machine.name} />}
      </div>
    </section>
  );
}
