/** One line on the data behind the page's numbers; a popover has the rest. */
import type { Totals } from '../../api/types.ts';
import { useStatus } from '../../api/useAnswer.ts';
import { summaryOf } from '../../estimates/summary.ts';
import { count, coverage, duration, plural, quantity } from '../../selection/numbers.ts';
import { roughly } from '../../selection/time.ts';
import { Popover } from '../../ui/Popover.tsx';

interface Props {
  totals: Totals | undefined;
  /** The event's unit, for events not counted in time. */
  unit: string | undefined;
  campaign: string;
}

export function AboutNumbers({ totals, unit, campaign }: Props) {
  const status = useStatus().data;
  if (totals === undefined) return <span className="about-numbers bone" />;
  const { estimate, interval, frame, remarks } = summaryOf(totals, unit ?? 'units');
  const warnings = remarks.filter((remark) => remark.warn);
  const plan = status?.campaigns.find((c) => c.name === campaign);
  const named = totals.samples === 0 ? null : totals.symbolized;
  return (
    <span className="about-numbers">
      <Popover
        label="about these numbers"
        buttonClass="link plain"
        title="about these numbers"
        button={
          <>
            {estimate !== '' && <b>{estimate}</b>}{' '}
            {interval !== '' && <span className="bracket">({interval})</span>}
            {estimate !== '' && ' · '}
            {totals.samples < 10_000 ? count(totals.samples) : quantity(totals.samples)} samples ·{' '}
            {plural(totals.visits ?? totals.visits_ingested, 'profile')}
            {named !== null && ` · ${coverage(named)} named`}
          </>
        }
      >
        {() => (
          <dl className="facts">
            <dt>Estimate</dt>
            <dd>
              {estimate === ''
                ? 'none'
                : `${estimate} ${interval === '' ? '' : `(95 % interval ${interval})`}`}{' '}
              {frame}
            </dd>
            <dt>CPU time sampled</dt>
            <dd>
              {totals.seconds === null
                ? `${quantity(totals.units)} ${unit ?? 'units'}`
                : duration(totals.seconds)}{' '}
              in {count(totals.samples)} samples of {plural(totals.profiles, 'process group')}
            </dd>
            {remarks.map(({ text, why, warn }) => (
              <div key={text}>
                <dt className={warn ? 'warn' : undefined}>{text}</dt>
                <dd>{why}</dd>
              </div>
            ))}
            {named !== null && (
              <>
                <dt>{coverage(named)} named</dt>
                <dd>share of samples in which every frame has a function name</dd>
                <dt>{coverage(totals.complete)} complete</dt>
                <dd>share of samples whose stack was unwound to the thread’s start</dd>
              </>
            )}
            {plan && (
              <>
                <dt>
                  Sampling: {plan.state === 'running' ? `on, every ${roughly(plan.period_s)}` : plan.state}
                </dt>
                <dd>{plan.why ?? `campaign ${plan.name}`}</dd>
              </>
            )}
          </dl>
        )}
      </Popover>
      {warnings.map(({ text, why }) => (
        <span key={text} className="remark warn" title={why}>
          {text}
        </span>
      ))}
    </span>
  );
}
