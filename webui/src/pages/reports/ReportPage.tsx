/** One report: its question, its parameters and its answer. All reports share this page. */
import { useMemo } from 'react';
import { Link } from 'wouter';
import type { GetRoute } from '../../api/client.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { NoPage } from '../../app/NoPage.tsx';
import { SelectionPage, type GoShown, type Shown } from '../../app/Page.tsx';
import { EXPLORE, FUNCTION, linkTo, REPORT, REPORTS, SERVICE } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { useParts } from '../../app/useParts.ts';
import { usePlace, type Go } from '../../app/usePlace.ts';
import { formatMatchers, parseMatchers, withMatcher } from '../../selection/matchers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import type { Common } from './basis.ts';
import { commandOf } from './command.ts';
import { Finding } from './Finding.tsx';
import { REPORT_OF } from './registry.ts';
import {
  needsLabels,
  pageOf,
  valuesOf,
  type AnyReport,
  type Known,
  type Links,
  type Used,
} from './report.ts';
import { ReportForm } from './ReportForm.tsx';
import './reports.css';

export function ReportPage() {
  const [kind] = useParts(REPORT);
  const report = REPORT_OF.get(kind);
  return report === undefined ? <NoPage /> : <OneReport key={kind} report={report} />;
}

type ReportPlace = Shown & Readonly<Record<string, unknown>>;

function OneReport({ report }: { report: AnyReport }) {
  const page = useMemo(() => pageOf(report), [report]);
  const [place, go] = usePlace(page) as unknown as [ReportPlace, Go<ReportPlace>];
  const { asOf } = useAsOf();
  const labels = useAnswer('/api/v1/labels', selectionOf(place, asOf), { enabled: needsLabels(report) });
  const known = useMemo<Known>(() => {
    const valuesOfLabel = (name: string): string[] =>
      labels.data?.labels
        .find((label) => label.name === name)
        ?.values.flatMap(({ value }) => (value === '' ? [] : [value])) ?? [];
    return { application: valuesOfLabel('application'), platform: valuesOfLabel('platform') };
  }, [labels.data]);
  const { values, wanting } = valuesOf(report, place, known, asOf);
  const query = report.readsFleet === false ? values : { ...selectionOf(place, asOf), ...values };
  const answer = useAnswer(report.route as GetRoute, query as never, { enabled: wanting.length === 0 });
  const links = useLinks(place);
  return (
    <SelectionPage
      title={report.title}
      className="report-page"
      place={place}
      go={go as GoShown}
      share={
        wanting.length > 0
          ? null
          : {
              route: report.route,
              query,
              formats: ROW_FORMATS,
              command: commandOf(report, query as unknown as Used),
            }
      }
      busy={answer.isFetching}
    >
      <p className="report-path">
        <Link href={linkTo(REPORTS, place)}>Reports</Link> › {report.group}
      </p>
      <h1>{report.question}</h1>
      <details className="report-explain">
        <summary>How it is computed</summary>
        <p>{report.explain}</p>
        <p className="note">
          The model and its limits: <code>docs/models.md</code>, “{report.section}”. The route:{' '}
          <code>{report.route}</code>
        </p>
      </details>
      <ReportForm
        fields={report.fields}
        place={place}
        used={values}
        known={known}
        go={(change) => go(change)}
      />
      {wanting.length > 0 ? (
        <Wanting wanting={wanting} loading={needsLabels(report) && labels.isFetching} />
      ) : (
        <Answered
          query={answer}
          what="the report"
          skeleton={<TableSkeleton />}
          shown={{ place, go: go as GoShown }}
        >
          {(data) => (
            <Finding
              report={report}
              answer={data as Common}
              campaign={place.campaign}
              used={values}
              links={links}
            />
          )}
        </Answered>
      )}
    </SelectionPage>
  );
}

function Wanting({ wanting, loading }: { wanting: readonly string[]; loading: boolean }) {
  if (loading) return <TableSkeleton />;
  return (
    <div className="panel state" role="status">
      <p className="sentence">
        {wanting.length === 1 ? 'A parameter is needed: ' : 'Parameters are needed: '}
        {wanting.join(', ')}.
      </p>
    </div>
  );
}

function useLinks(place: Shown): Links {
  return useMemo(() => {
    const narrowed = (label: string, value: string): Shown => ({
      ...place,
      select: formatMatchers(withMatcher(parseMatchers(place.select) ?? [], { label, operator: '=', value })),
    });
    return {
      application: (name) => linkTo(SERVICE, place, {}, name),
      value: (label, value) => linkTo(EXPLORE, narrowed(label, value), { by: 'application' }),
      fn: (id) => linkTo(FUNCTION, place, {}, id),
      report: (kind) => linkTo(REPORT, place, {}, kind),
    };
  }, [place]);
}
