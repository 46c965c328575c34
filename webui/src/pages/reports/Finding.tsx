/** The answer of a report: the sentence, the chart, what they rest on, and the tables. */
import { Link } from 'wouter';
import { DataTable } from '../../ui/DataTable.tsx';
import { Command } from '../../ui/Command.tsx';
import { count, percent } from '../../selection/numbers.ts';
import { BarChart } from '../../views/chart/BarChart.tsx';
import { LineChart } from '../../views/chart/LineChart.tsx';
import { StackedShares } from '../../views/chart/StackedShares.tsx';
import { basisOf, type Common } from './basis.ts';
import { columnsOf, filled } from './columns.tsx';
import { remediesOf } from './remedies.ts';
import type { AnyReport, ChartData, Links, Remedy, TableData, Unavailable, Used } from './report.ts';

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
  const tables = report.tables(answer).filter((table) => table.rows.length > 0);
  return (
    <div className="report-grid">
      <section className="panel report-answer" aria-label="answer">
        {because ? (
          <NoAnswer because={because} remedies={remedies} />
        ) : (
          <Answer
            sentence={report.sentence(answer, used)}
            level={answer.interval_level ?? 0.95}
            naive={report.naive?.(answer) ?? null}
            chart={drawable(report.chart(answer))}
          />
        )}
      </section>
      <section className="panel report-basis" aria-label="what it rests on">
        <h2>What it rests on</h2>
        <ul>
          {(basis.length > 0 ? basis : ['The parameters above only.']).map((text) => (
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
      {tables.length > 0 && (
        <section className="panel report-tables" aria-label="tables">
          {tables.map((table) => (
            <Table key={table.label} table={table} links={links} />
          ))}
        </section>
      )}
    </div>
  );
}

interface AnswerProps {
  sentence: string;
  /** Of the intervals in it. */
  level: number;
  naive: string | null;
  chart: ChartData | null;
}

function Answer({ sentence, level, naive, chart }: AnswerProps) {
  return (
    <>
      <p className="report-sentence">{sentence}</p>
      {naive && <p className="report-naive">{naive}</p>}
      {/\(.*\d[–\d ].*\)/.test(sentence) && (
        <p className="note">
          In brackets: the range that contains the true value with {percent(level, 0)} confidence.
        </p>
      )}
      {chart ? (
        <Chart chart={chart} />
      ) : (
        <p className="note">
          There is no chart: no value of the answer can be drawn. The tables have the rows.
        </p>
      )}
    </>
  );
}

/** null for a chart without any value. */
export function drawable(chart: ChartData | null): ChartData | null {
  switch (chart?.kind) {
    case 'bars':
      return chart.rows.some(({ values }) => values.some((v) => v !== null)) ? chart : null;
    case 'lines':
      return chart.lines.some(({ points }) => points.length > 0) ? chart : null;
    case 'shares':
      return chart.layers.some(({ points }) => points.some((p) => p !== null)) ? chart : null;
    default:
      return null;
  }
}

function Table<Row>({ table, links }: { table: TableData<Row>; links: Links }) {
  const { label, rows, total, keyOf } = table;
  return (
    <div>
      <h2 className="report-heading">
        {label}
        {total !== undefined && total > rows.length && (
          <span className="note">
            {' '}
            {count(rows.length)} of {count(total)} rows
          </span>
        )}
      </h2>
      <DataTable
        label={label}
        columns={filled(table.columns(columnsOf<Row>(links)), rows)}
        rows={rows}
        keyOf={keyOf}
      />
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
