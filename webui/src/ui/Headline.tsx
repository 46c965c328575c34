/** The selection in one sentence: amount of CPU, its interval, and the data behind it. */
import type { Totals } from '../api/types.ts';
import { summaryOf } from '../estimates/summary.ts';

export function Headline({ totals, unit }: { totals: Totals; unit: string }) {
  const { estimate, interval, frame, remarks } = summaryOf(totals, unit);
  return (
    <p className="headline" aria-label="data behind these numbers">
      <span className="claim">
        {estimate !== '' && <b>{estimate}</b>} {interval !== '' && <Interval text={interval} />} {frame}
      </span>
      {remarks.map(({ text, why, warn }) => (
        <span key={text} className={warn ? 'remark warn' : 'remark'} title={why}>
          {text}
        </span>
      ))}
    </p>
  );
}

function Interval({ text }: { text: string }) {
  return <span title="95 % interval: in 19 of 20 such samplings it contains the true value">({text})</span>;
}
