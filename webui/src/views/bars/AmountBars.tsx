/** Named amounts as bars with intervals: a list for few rows, which is its own table. */
import { Link } from 'wouter';
import type { Estimate } from '../../estimates/interval.ts';
import type { Measure } from '../../estimates/measure.ts';
import { Whisker } from '../../estimates/Whisker.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import './bars.css';

export interface AmountBar {
  /** Unique in the list. */
  id: string;
  name: string;
  /** The whole name, and what it is, if `name` is cut. */
  title: string;
  /** null: a name without a page of its own. */
  href: string | null;
  estimate: Estimate | null;
  low_confidence: boolean;
  /** Small print after the amount: `34 % of it`. */
  aside: string;
}

interface Props {
  label: string;
  /** What `name` is: `version`. */
  heading: string;
  /** What `aside` is. */
  asideHeading: string;
  bars: readonly AmountBar[];
  measure: Measure;
}

export function AmountBars({ label, heading, asideHeading, bars, measure }: Props) {
  const full = Math.max(
    0,
    ...bars.map(({ estimate }) => Math.min(estimate?.hi ?? 0, 2 * (estimate?.value ?? 0))),
  );
  const widest = Math.max(full, ...bars.map(({ estimate }) => estimate?.value ?? 0));
  return (
    <div className="amount-bars" role="region" aria-label={label} tabIndex={0}>
      <table>
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr>
            <th scope="col">{heading}</th>
            <th scope="col">amount</th>
            <th scope="col" className="number">
              {asideHeading}
            </th>
          </tr>
        </thead>
        <tbody>
          {bars.map((bar) => (
            <tr key={bar.id}>
              <th scope="row" title={bar.title}>
                {bar.href === null ? bar.name : <Link href={bar.href}>{bar.name}</Link>}
              </th>
              <td className="amount">
                {bar.estimate !== null && widest > 0 && (
                  <Whisker estimate={bar.estimate} full={widest} low_confidence={bar.low_confidence} />
                )}
                <EstimateText estimate={bar.estimate} measure={measure} />
              </td>
              <td className="number">{bar.aside}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
