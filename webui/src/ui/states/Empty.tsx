/** No data to show: the reason, and what to do. */
import { useQueries } from '@tanstack/react-query';
import { askTable } from '../../api/client.ts';
import { retryPassing } from '../../api/queries.ts';
import type { StatusAnswer, Totals } from '../../api/types.ts';
import { boundOf } from '../../estimates/summary.ts';
import type { Go } from '../../location/usePlace.ts';
import { count } from '../../selection/numbers.ts';
import { HOME, selectionOf, type Place } from '../../selection/place.ts';
import { constraintsOf } from '../../selection/constraints.ts';
import { isLive, localMinute, roughly, secondsBack } from '../../selection/time.ts';
import { Command } from '../Command.tsx';

interface Props {
  totals: Totals;
  /** The event's unit, for events not counted in time. */
  unit: string;
  place: Place;
  go: Go;
  status: StatusAnswer | undefined;
}

export function Empty(props: Props) {
  if (props.status?.latest === null) return <NothingYet status={props.status} />;
  return <NothingLeft {...props} />;
}

/** Just after the start, or if sampling never succeeded. */
function NothingYet({ status }: { status: StatusAnswer }) {
  const outcomes = Object.entries(status.visits.last_hour).filter(([, n]) => n > 0);
  const failing = outcomes.length > 0 && !status.visits.last_hour['answered'];
  if (status.machines.enabled === 0) {
    return (
      <div className="state">
        <p className="sentence">No machine is in the inventory yet.</p>
        <p>
          Add one with <Command text="fleetprof machines add" />
        </p>
      </div>
    );
  }
  return (
    <div className="state" role="status">
      <p className="sentence">
        {failing ? 'No visit has succeeded yet.' : 'The first captures are being ingested'}
        {!failing && <span className="dots" aria-hidden="true" />}
      </p>
      <p className="note">
        {outcomes.length === 0
          ? 'The first visits are running; this page updates automatically.'
          : `Visits so far: ${outcomes.map(([outcome, n]) => `${count(n)} ${outcome}`).join(', ')}. `}
        {status.captures.waiting > 0 && `${count(status.captures.waiting)} waiting to be ingested.`}
      </p>
    </div>
  );
}

/** There is data, but not in the selection: the page tries it without each of its parts. */
function NothingLeft({ totals, unit, place, go, status }: Props) {
  const constraints = constraintsOf(place);
  const probes = useQueries({
    queries: constraints.map((c) => {
      const question = {
        ...selectionOf({ ...place, ...c.without }),
        by: 'function',
        sort: '-self' as const,
        limit: 1,
        offset: 0,
      };
      return {
        queryKey: ['probe', question],
        queryFn: ({ signal }: { signal: AbortSignal }) => askTable(question, signal),
        retry: retryPassing,
        staleTime: 10_000,
      };
    }),
  });
  const looking = probes.some((p) => p.isPending);
  const culprits = constraints.flatMap((c, k) => {
    const samples = probes[k].data?.totals.samples ?? 0;
    return samples > 0 ? [{ ...c, samples }] : [];
  });
  const bound = boundOf(totals, unit);
  const age = status?.latest ? (Date.parse(status.now) - Date.parse(status.latest)) / 1000 : null;
  return (
    <div className="state" role="status">
      <p className="sentence">No samples in this selection.</p>
      {bound !== '' && <p>{bound}</p>}
      {culprits.map((c) => (
        <p key={c.what}>
          {c.what} excludes all samples: without it there{' '}
          {c.samples === 1 ? 'is 1 sample' : `are ${count(c.samples)} samples`}.{' '}
          <button type="button" className="primary" onClick={() => go(c.without)}>
            {c.action}
          </button>
        </p>
      ))}
      {!looking && culprits.length === 0 && constraints.length > 1 && (
        <p>
          No single part of the selection is the cause.{' '}
          <button type="button" className="primary" onClick={() => go({ ...HOME, view: place.view })}>
            Remove all filters
          </button>
        </p>
      )}
      {status?.latest && age !== null && !holds(place, status.latest, age) && (
        <p className="note">
          The newest samples are {roughly(age)} old.{' '}
          <button type="button" className="link" onClick={() => go(hourUpTo(status.latest!))}>
            Show the hour up to {localMinute(status.latest)}
          </button>
        </p>
      )}
    </div>
  );
}

/** Whether the range includes the newest samples, so that their age is not the cause. */
function holds(place: Place, latest: string, age: number): boolean {
  if (isLive(place)) return age < (secondsBack(place.from) ?? 0);
  return Date.parse(place.from) <= Date.parse(latest) && Date.parse(latest) < Date.parse(place.to);
}

function hourUpTo(latest: string): Partial<Place> {
  const end = Date.parse(latest) + 1000; // ranges exclude their end
  const rfc = (t: number): string => new Date(t).toISOString().replace(/\.\d+Z$/, 'Z');
  return { from: rfc(end - 3600_000), to: rfc(end) };
}
