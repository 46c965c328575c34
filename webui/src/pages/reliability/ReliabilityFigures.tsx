/** Whether this profile is reliable as a whole, and what more visits would improve. */
import type { ReactNode } from 'react';
import type { ReliabilityAnswer, Totals } from '../../api/types.ts';
import { isBounded, type Estimate } from '../../estimates/interval.ts';
import { count, plural, significant } from '../../selection/numbers.ts';
import { Segments } from '../../ui/Segments.tsx';
import { ConvergencePlot } from './ConvergencePlot.tsx';
import { distanceOf, moreVisits, PRECISIONS } from './convergence.ts';

/** The server fits no curve to fewer. */
const LEAST_VISITS = 8;

interface Props {
  answer: ReliabilityAnswer;
  /** The wanted distance from the fleet's profile. */
  wanted: number;
  onWanted: (wanted: number) => void;
}

export function ReliabilityFigures({ answer, wanted, onWanted }: Props) {
  const { entropy, manhattan, by } = answer;
  return (
    <div className="reliability-body">
      <div className="cards">
        {entropy && (
          <Card title="Entropy" value={`${entropy.value.toFixed(2)} nats`} interval={plain(entropy, 2)}>
            The time is distributed as over {count(Math.exp(entropy.value))} equally heavy rows by{' '}
            {by.join(' · ')}. Profiles that represent the fleet have the same entropy, whatever their number
            of samples.
          </Card>
        )}
        {manhattan && (
          <Card
            title="Distance between two random halves"
            value={manhattan.value.toFixed(3)}
            interval={plain(manhattan, 3)}
          >
            By chance alone, two halves of the visits attribute {(50 * manhattan.value).toFixed(1)} % of the
            time to different rows. 0: identical profiles; 2: no row in common.
          </Card>
        )}
      </div>
      <Convergence answer={answer} wanted={wanted} onWanted={onWanted} />
    </div>
  );
}

function Convergence({ answer, wanted, onWanted }: Props) {
  const { fit, totals } = answer;
  if (fit === null) return <p className="card note">{unfitted(totals)}</p>;
  if (!(fit.constant.value > 0)) {
    return (
      <p className="card note">
        All {count(fit.visits)} visits have the same profile, so there is no convergence.
      </p>
    );
  }
  const ingested = totals.visits_ingested;
  const more = moreVisits(fit, wanted, ingested);
  return (
    <figure className="card convergence">
      <figcaption>
        <h2>Effect of more visits</h2>
        <Segments
          label="wanted precision"
          value={String(wanted)}
          options={PRECISIONS.map((p) => ({
            value: String(p),
            text: `±${100 * p} %`,
            title: `a distance of ${p} from the fleet's profile`,
          }))}
          onChange={(value) => onWanted(Number(value))}
        />
        <p>
          {more > 0 ? (
            <>
              <b>{plural(more, 'more visit')}</b> of the campaign for ±{100 * wanted} %
            </>
          ) : (
            <>
              <b>Enough visits</b> for ±{100 * wanted} %
            </>
          )}
          . Now: ±{(100 * distanceOf(fit, fit.visits)).toFixed(1)} %, from{' '}
          {fit.visits < ingested
            ? `the ${count(fit.visits)} of ${count(ingested)} visits with samples of the selection`
            : plural(fit.visits, 'visit')}
          .
        </p>
      </figcaption>
      <ConvergencePlot fit={fit} wanted={wanted} />
      <p className="note">
        Each point is a random part of the visits and its distance from the other visits. The curve approaches
        C/√N for N samples: now C = {fit.constant.value.toPrecision(3)}
        {isBounded(fit.constant) && ` (${fit.constant.lo.toPrecision(3)}–${fit.constant.hi.toPrecision(3)})`},
        slope {significant(fit.exponent)} (−0.5 once every row has many samples).
      </p>
    </figure>
  );
}

function unfitted({ design, visits_ingested }: Totals): string {
  if (design === 'none') return 'Convergence can be computed only from visits that were drawn at random.';
  const ingested = plural(visits_ingested, 'visit');
  return visits_ingested < LEAST_VISITS
    ? `${ingested} ingested: convergence needs at least ${LEAST_VISITS}.`
    : `Fewer than ${LEAST_VISITS} of ${ingested} have samples of the selection: too few to compute convergence.`;
}

function Card({
  title,
  value,
  interval,
  children,
}: {
  title: string;
  value: string;
  interval: string;
  children: ReactNode;
}) {
  return (
    <section className="card">
      <h2>{title}</h2>
      <p className="value">
        {value} <span className="bracket">{interval}</span>
      </p>
      <p className="note">{children}</p>
    </section>
  );
}

function plain(estimate: Estimate, decimals: number): string {
  return isBounded(estimate) ? `(${estimate.lo.toFixed(decimals)}–${estimate.hi.toFixed(decimals)})` : '';
}
