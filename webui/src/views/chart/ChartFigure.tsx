/** A chart with its legend, a text alternative and a table of the same numbers. */
import { useId, type ReactNode } from 'react';
import { CHART_FORMS, useChartForm } from '../../app/useChartForm.ts';
import { Segments } from '../../ui/Segments.tsx';
import { useWidth } from './useWidth.ts';
import './chart.css';

export interface Entry {
  name: string;
  /** A class of chart.css: `s1` … `s8`. */
  style: string;
}

interface Props {
  /** Names the chart: `APU by platform`. */
  label: string;
  /** What the chart shows, in words. */
  summary: string;
  legend: readonly Entry[];
  heads: readonly string[];
  /** Texts under `heads`. */
  rows: readonly (readonly string[])[];
  /** Draws the chart in this many pixels. */
  children: (width: number, titleId: string) => ReactNode;
}

export function ChartFigure({ label, summary, legend, heads, rows, children }: Props) {
  const [as, setAs] = useChartForm();
  const [place, width] = useWidth();
  const title = useId();
  return (
    <figure className="chart" aria-label={label}>
      <div className="chart-top">
        <span className="chart-legend">
          {legend.map(({ name, style }) => (
            <span key={name} className="chart-entry">
              <svg className={style} width="14" height="10" aria-hidden="true">
                <rect className="fill" width="14" height="10" rx="2" />
              </svg>
              {name}
            </span>
          ))}
        </span>
        <Segments label={`${label}: chart or table`} value={as} options={CHART_FORMS} onChange={setAs} />
      </div>
      <div ref={place}>
        {as === 'chart' ? (
          <>
            <p id={title} className="sr-only">
              {summary}
            </p>
            {children(width, title)}
          </>
        ) : (
          <div className="data-table" role="region" aria-label={`${label}: table`} tabIndex={0}>
            <table>
              <thead>
                <tr>
                  {heads.map((head, k) => (
                    <th key={head} scope="col" className={k > 0 ? 'number' : undefined}>
                      {head}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <tr key={row.join('\n')}>
                    {row.map((cell, k) => (
                      <td key={heads[k]} className={k > 0 ? 'number' : undefined}>
                        {cell}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </div>
    </figure>
  );
}
