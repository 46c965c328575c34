/** No data to show: the reason, and what to do. */
import { useQueries } from '@tanstack/react-query';
import { questionOf } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import type { GoShown, Shown } from '../../app/Page.tsx';
import { defaultsOf } from '../../selection/params.ts';
import { SELECTION, selectionOf } from '../../selection/selection.ts';
import type { LabelsAnswer, StatusAnswer, Totals } from '../../api/types.ts';
import { boundOf } from '../../estimates/summary.ts';
import { count } from '../../selection/numbers.ts';
import { constraintsOf } from '../../selection/constraints.ts';
import {
  formatMatchers,
  isOnFrames,
  parseMatchers,
  withMatcher,
  type Matcher,
} from '../../selection/matchers.ts';
import { nearTo } from '../../selection/near.ts';
import { isLive, localMinute, rfc3339, roughly, secondsBack } from '../../selection/time.ts';
import { Command } from '../Command.tsx';

/** Values of a label among which near ones are looked for: the heaviest. */
const VALUES = 500;

interface Props {
  totals: Totals;
  /** The event's unit, for events not counted in time. */
  unit: string;
  place: Shown;
  go: GoShown;
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
        {failing ? 'No profile has been collected yet.' : 'The first profiles are being processed'}
        {!failing && <span className="dots" aria-hidden="true" />}
      </p>
      <p className="note">
        {outcomes.length === 0
          ? 'The first profiles are being collected; this page updates by itself.'
          : `Profiles requested so far: ${outcomes.map(([outcome, n]) => `${count(n)} ${outcome}`).join(', ')}.`}{' '}
        {status.captures.waiting > 0 && `${count(status.captures.waiting)} being processed.`}
      </p>
    </div>
  );
}

/** There is data, but not in the selection: the page tries it without each of its parts. */
function NothingLeft({ totals, unit, place, go, status }: Props) {
  const constraints = constraintsOf(place);
  const { asOf } = useAsOf();
  const probes = useQueries({
    queries: constraints.map((c) =>
      questionOf('/api/v1/table', {
        ...selectionOf({ ...place, ...c.without }, asOf),
        by: 'function',
        sort: '-self',
        limit: 1,
      }),
    ),
  });
  const looking = probes.some((p) => p.isPending);
  const culprits = constraints.flatMap((c, k) => {
    const samples = probes[k].data?.totals.samples ?? 0;
    return samples > 0 ? [{ ...c, samples }] : [];
  });
  const bound = boundOf(totals, unit);
  const unknown = useUnknownValues(place);
  const age = status?.latest ? (Date.parse(status.now) - Date.parse(status.latest)) / 1000 : null;
  return (
    <div className="state" role="status">
      <p className="sentence">No samples in this selection.</p>
      {unknown.length > 0 ? (
        unknown.map((u) => <UnknownValue key={u.matcher.label} {...u} place={place} go={go} />)
      ) : (
        <>{bound !== '' && <p>{bound}</p>}</>
      )}
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
          <button type="button" className="primary" onClick={() => go(defaultsOf(SELECTION))}>
            Clear all filters
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

interface Unknown {
  matcher: Matcher;
  /** Values that are spelled like it. */
  near: string[];
}

/** The filters on values that no profile of the time range has. */
function useUnknownValues(place: Shown): Unknown[] {
  const { asOf } = useAsOf();
  const exact = (parseMatchers(place.select) ?? []).filter(
    (m) => m.operator === '=' && m.value !== '' && !isOnFrames(m),
  );
  const time = { ...selectionOf({ ...defaultsOf(SELECTION), from: place.from, to: place.to }, asOf) };
  const range = { ...time, event: place.event, campaign: place.campaign, limit: VALUES };
  const labels = useQueries({
    queries: exact.flatMap(({ label, value }) => [
      questionOf('/api/v1/labels', { ...range, except: label }),
      questionOf('/api/v1/labels', { ...range, except: label, find: value }),
    ]),
  });
  return exact.flatMap((matcher, k) => {
    const [all, found] = [labels[2 * k].data, labels[2 * k + 1].data];
    if (all === undefined || found === undefined) return [];
    const valuesOf = (answer: LabelsAnswer): string[] =>
      answer.labels.flatMap((l) => (l.name === matcher.label ? l.values.map(({ value }) => value) : []));
    const known = valuesOf(found);
    if (known.includes(matcher.value)) return [];
    return [{ matcher, near: nearTo(matcher.value, [...new Set([...known, ...valuesOf(all)])]) }];
  });
}

function UnknownValue({ matcher, near, place, go }: Unknown & { place: Shown; go: GoShown }) {
  const matchers = parseMatchers(place.select) ?? [];
  return (
    <p>
      No {matcher.label} is called {matcher.value}
      {near.length === 0 ? ' in this time range.' : '. Did you mean '}
      {near.map((value, k) => (
        <span key={value}>
          {k > 0 && ' or '}
          <button
            type="button"
            className="link"
            onClick={() => go({ select: formatMatchers(withMatcher(matchers, { ...matcher, value })) })}
          >
            {value}
          </button>
        </span>
      ))}
      {near.length > 0 && '?'}
    </p>
  );
}

/** Whether the range includes the newest samples, so that their age is not the cause. */
function holds(place: Shown, latest: string, age: number): boolean {
  if (isLive(place)) return age < (secondsBack(place.from) ?? 0);
  return Date.parse(place.from) <= Date.parse(latest) && Date.parse(latest) < Date.parse(place.to);
}

function hourUpTo(latest: string): { from: string; to: string } {
  const end = Date.parse(latest) + 1000; // ranges exclude their end
  return { from: rfc3339(end - 3600_000), to: rfc3339(end) };
}
