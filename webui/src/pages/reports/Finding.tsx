/** The answer of a report: the sentence, the chart, the tables, and what they rest on. */
import { Link } from 'wouter';
import { DataTable } from '../../ui/DataTable.tsx';
import { Command } from '../../ui/Command.tsx';
import { count } from '../../selection/numbers.ts';
import { BarChart } from '../../views/chart/BarChart.tsx';
import { LineChart } from '../../views/chart/LineChart.tsx';
import { StackedShares } from '../../views/chart/StackedShares.tsx';
import { basisOf, type Common } from './basis.ts';
import { remediesOf } from './remedies.ts';
import type { AnyReport, ChartData, Links, Remedy, Unavailable, Used } from './report.ts';

interface Props {
  report: AnyReport;
  answer: Common;
  campaign: string;
  used: Used;
  links: Links;
}

export function Finding({ report, answer, campaign, used, links }: Props) {
  const because = report.because ? report.because(answer) : (answer.because ?? null);
  const remedies = [...remediesOf(answer, campaign), ...(report.missing?.(answer, links, used) ?? [])];
  const basis = [...(report.assumptions?.(answer) ?? []), ...basisOf(answer)];
  const chart = because ? null : report.chart(answer);
  const tables = report.tables(answer, links).filter((table) => table.rows.length > 0);
  const naive = because ? null : (report.naive?.(answer) ?? null);
  return (
    <div className="report-grid">
      <section className="panel report-answer" aria-label="answer">
        {because ? (
          <NoAnswer because={because} remedies={remedies} />
        ) : (
          <>
            <p className="report-sentence">{report.sentence(answer, used)}</p>
            {naive && <p className="report-naive">{naive}</p>}
          </>
        )}
        {chart && <Chart chart={chart} />}
        {tables.map((table) => (
          <div key={table.label}>
            <h2 className="report-heading">
              {table.label}
              {table.total !== undefined && table.total > table.rows.length && (
                <span className="note">
                  {' '}
                  {count(table.rows.length)} of {count(table.total)} rows
                </span>
              )}
            </h2>
            <DataTable label={table.label} columns={table.columns} rows={table.rows} keyOf={table.keyOf} />
          </div>
        ))}
      </section>
      <section className="panel report-basis" aria-label="what it rests on">
        <h2>What it rests on</h2>
        <ul>
          {basis.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
        {!because && remedies.length > 0 && (
          <>
            <h2>What would improve it</h2>
            <Remedies remedies={remedies} />
          </>
        )}
      </section>
    </div>
  );
}

function NoAnswer({ because, remedies }: { because: Unavailable; remedies: readonly Remedy[] }) {
  return (
    <div className="report-none" role="status">
      <p className="report-sentence">There is no answer yet.</p>
      <p>{because.detail}</p>
      {remedies.length > 0 && <Remedies remedies={remedies} />}
    </div>
  );
}

function Remedies({ remedies }: { remedies: readonly Remedy[] }) {
  return (
    <ul className="report-remedies">
      {remedies.map(({ text, command, link }) => (
        <li key={text}>
          {text} {command !== undefined && <Command text={command} />}
          {link !== undefined && <Link href={link.href}>{link.text}</Link>}
        </li>
      ))}
    </ul>
  );
}

function Chart({ chart }: { chart: ChartData }) {
  switch (chart.kind) {
    case 'bars':
      return <BarChart {...chart} />;
    case 'lines':
      return <LineChart {...chart} />;
    case 'shares':
      return <StackedShares {...chart} />;
  }
}
