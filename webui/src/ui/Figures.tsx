/** The numbers above the results: amount of samples, share of named frames, state of sampling. */
import type { ReactNode } from 'react';
import type { StatusAnswer, Totals } from '../api/types.ts';
import { onMachines } from '../estimates/words.ts';
import { count, coverage, duration, percent, plural } from '../selection/numbers.ts';
import { roughly } from '../selection/time.ts';
import { SYMBOLS_PATH, symbolsOf } from '../symbols/place.ts';
import { Popover } from './Popover.tsx';

interface Props {
  totals: Totals | undefined;
  /** The request failed: there is no response, and none is pending. */
  failed: boolean;
  unit: string | undefined;
  status: StatusAnswer | undefined;
  campaign: string;
}

export function Figures({ totals, failed, unit, status, campaign }: Props) {
  const plan = status?.campaigns.find((c) => c.name === campaign);
  const waiting = status?.captures.waiting;
  const none = failed ? '–' : undefined;
  return (
    <dl className="figures" aria-label="figures of this selection">
      <Figure
        name="Samples"
        value={totals ? count(totals.samples) : none}
        note={totals && plural(totals.profiles, 'process group')}
      />
      <Figure
        name="CPU sampled"
        value={totals ? (totals.seconds === null ? '–' : duration(totals.seconds)) : none}
        note={totals?.seconds === null ? `counted in ${unit ?? 'units'}` : 'summed over cores'}
      />
      <Figure
        name="Seen in"
        value={totals ? (totals.visits === null ? '–' : plural(totals.visits, 'visit')) : none}
        note={totals && (onMachines(totals) === '' ? 'with samples' : `on ${onMachines(totals)}`)}
      />
      <Figure
        name="Symbolized"
        value={totals ? (totals.samples === 0 ? '–' : coverage(totals.symbolized)) : none}
        tone={totals && totals.samples > 0 && totals.symbolized < 0.9 ? 'warn' : undefined}
        note={<MissingSymbols status={status} totals={totals} />}
      />
      <Figure
        name="Complete stacks"
        value={totals ? (totals.samples === 0 ? '–' : coverage(totals.complete)) : none}
        tone={totals && totals.samples > 0 && totals.complete < 0.9 ? 'warn' : undefined}
        note="to the thread's start"
      />
      <Figure
        name={`Campaign ${campaign}`}
        value={plan && <CampaignState state={plan.state} />}
        note={plan && `a round every ${roughly(plan.period_s)}`}
      />
      <Figure
        name="Waiting to ingest"
        value={waiting === undefined ? undefined : plural(waiting, 'capture')}
        tone={
          status && (status.captures.quarantined > 0 || (status.captures.oldest_waiting_s ?? 0) > 120)
            ? 'warn'
            : undefined
        }
        note={status && waitingNote(status.captures)}
      />
    </dl>
  );
}

function waitingNote(captures: StatusAnswer['captures']): string {
  if (captures.quarantined > 0) return `${count(captures.quarantined)} quarantined after failing`;
  return captures.oldest_waiting_s === null
    ? 'all are ingested'
    : `the oldest for ${roughly(captures.oldest_waiting_s)}`;
}

function Figure({
  name,
  value,
  note,
  tone,
}: {
  name: string;
  value: ReactNode;
  note: ReactNode;
  tone?: 'warn' | undefined;
}) {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>
        <span className={tone === 'warn' ? 'value warn' : 'value'}>{value ?? <span className="bone" />}</span>
        <span className="note">{note}</span>
      </dd>
    </div>
  );
}

function CampaignState({ state }: { state: string }) {
  return (
    <span className={`state-${state}`}>
      <span className="dot" aria-hidden="true" />
      {state}
    </span>
  );
}

/** The binaries without symbols and the reasons, to explain a low share of named frames. */
function MissingSymbols({
  status,
  totals,
}: {
  status: StatusAnswer | undefined;
  totals: Totals | undefined;
}) {
  const missing = status?.symbols.missing ?? [];
  if (missing.length === 0) {
    // Only true if there are samples and all of them have names.
    return totals && totals.samples > 0 && totals.symbolized >= 1 ? <>every frame named</> : null;
  }
  return (
    <Popover
      label="binaries without symbols"
      buttonClass="link"
      button={`${missing.length} without symbols`}
      title="show the binaries and the reasons"
    >
      {() => (
        <>
          <table className="plain">
            <caption>Binaries whose functions have no names</caption>
            <thead>
              <tr>
                <th scope="col">Binary</th>
                <th scope="col" className="number">
                  Share
                </th>
                <th scope="col">Why</th>
              </tr>
            </thead>
            <tbody>
              {missing.map((m) => (
                <tr key={`${m.binary} ${m.path} ${m.reason}`}>
                  <td className="code" title={m.path}>
                    <a href={symbolsOf(m.binary)}>{m.binary}</a>
                  </td>
                  <td className="number">{percent(m.share)}</td>
                  <td>{m.reason || 'not known'}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <p className="more-symbols">
            <a href={SYMBOLS_PATH}>Show all missing symbols, and upload symbol files</a>
          </p>
        </>
      )}
    </Popover>
  );
}
