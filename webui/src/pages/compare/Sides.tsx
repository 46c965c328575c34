/** The two sides of a comparison, by what they differ in, and what was found. */
import type { DiffAnswer, SelectionEcho, Totals } from '../../api/types.ts';
import { limitsOf, summaryOf } from '../../estimates/summary.ts';
import { count, plural } from '../../selection/numbers.ts';
import type { Unit } from './change.ts';
import { sidesOf } from './sides.ts';

interface Compared {
  selection: SelectionEcho;
  totals: Totals;
  base: SelectionEcho;
  base_totals: Totals;
}

export function Sides({ answer, swap }: { answer: Compared; swap: () => void }) {
  const [after, before] = sidesOf(answer.selection, answer.base);
  return (
    <div className="sides">
      <Side word="After" name={after} totals={answer.totals} unit={answer.selection.unit} />
      <button
        type="button"
        className="icon"
        onClick={swap}
        aria-label="swap the sides"
        title="swap the sides"
      >
        ⇄
      </button>
      <Side word="Before" name={before} totals={answer.base_totals} unit={answer.base.unit} />
    </div>
  );
}

function Side({ word, name, totals, unit }: { word: string; name: string; totals: Totals; unit: string }) {
  const { estimate, interval } = summaryOf(totals, unit);
  return (
    <p className="side">
      <span className="word">{word}</span> <b>{name}</b>{' '}
      <span className="note">
        {estimate !== '' && `${estimate}${interval === '' ? '' : ` (${interval})`} · `}
        {plural(totals.visits ?? totals.visits_ingested, 'profile')}
      </span>
      {limitsOf(totals, unit).map(({ text, why }) => (
        <span key={text} className="remark warn" title={why}>
          {text}
        </span>
      ))}
    </p>
  );
}

/** The number of significant changes, and which changes would have been found. */
export function Verdict({ answer, unit }: { answer: DiffAnswer; unit: Unit }) {
  const significant = answer.rows.filter((row) => row.significant).length;
  const { power, part, interval_level: level } = answer;
  if (answer.rows.every((row) => row.q === null))
    return <p className="verdict">Significance needs machines drawn at random on both sides.</p>;
  return (
    <p className="verdict">
      <b>
        {count(significant)} of {count(answer.rows.length)}
      </b>{' '}
      rows changed significantly{significant > 0 && ' (about 1 in 20 of them by chance)'}.{' '}
      {power &&
        `With this much data, a ${percentOf(power.share)} row that becomes ${power.factor}× heavier is detected ${Math.round(100 * power.power)} % of the time.`}{' '}
      {unit !== 'share' && (
        <span className="note">
          Of shares. Colours below are of {unit}: each interval is of its row alone (95 %), so about 1 in 20
          unchanged rows is coloured.
        </span>
      )}
      {unit === 'share' && level !== null && (
        <span className="note">
          Grey rows: not significant after testing {count(answer.rows.length)} rows at once. Intervals have a
          level of {Number((100 * level).toPrecision(4))} % and exclude 0 exactly for the coloured rows.
        </span>
      )}
      {part < 1 && <span className="note"> Computed from a random {percentOf(part)} of the profiles.</span>}
    </p>
  );
}

function percentOf(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}
