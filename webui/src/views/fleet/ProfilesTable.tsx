/** Profiles of machines: what became of each, and the state of its processing. */
import { Link } from 'wouter';
import type { VisitRow } from '../../api/types.ts';
import { count, percent, significant } from '../../selection/numbers.ts';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { Marked } from './Marked.tsx';
import { When } from './When.tsx';
import { bytesText, INGESTIONS, OUTCOMES } from './words.ts';

interface Props {
  label: string;
  visits: readonly VisitRow[];
  now: number;
  /** The address of a processed profile. */
  linkOf: (visit: VisitRow) => string;
}

export function ProfilesTable({ label, visits, now, linkOf }: Props) {
  const columns: readonly Column<VisitRow>[] = [
    {
      name: 'Planned',
      cell: (visit) =>
        visit.ingestion === 'ingested' ? (
          <Link href={linkOf(visit)} title="show this profile">
            <When at={visit.planned_at} now={now} />
          </Link>
        ) : (
          <When at={visit.planned_at} now={now} />
        ),
      sortBy: (visit) => visit.planned_at,
    },
    {
      name: 'Campaign',
      cell: (visit) => <span title={visit.requested_by ?? undefined}>{visit.campaign}</span>,
      sortBy: (visit) => visit.campaign,
    },
    {
      name: 'Outcome',
      cell: (visit) => (
        <Marked word={OUTCOMES[visit.outcome]} {...(visit.detail && { title: visit.detail })} />
      ),
      sortBy: (visit) => OUTCOMES[visit.outcome].text,
    },
    {
      name: 'Processing',
      cell: (visit) =>
        visit.ingestion === null ? (
          '–'
        ) : (
          <Marked
            word={INGESTIONS[visit.ingestion]}
            {...(visit.ingestion_detail && { title: visit.ingestion_detail })}
          />
        ),
      sortBy: (visit) => (visit.ingestion === null ? null : INGESTIONS[visit.ingestion].text),
    },
    {
      name: 'Sampled',
      number: true,
      cell: (visit) => (visit.sampled_s === null ? '–' : `${significant(visit.sampled_s)} s`),
      sortBy: (visit) => visit.sampled_s,
    },
    {
      name: 'Utilisation',
      number: true,
      cell: (visit) => (visit.utilisation === null ? '–' : percent(visit.utilisation, 0)),
      sortBy: (visit) => visit.utilisation,
    },
    {
      name: 'Samples',
      number: true,
      cell: (visit) => (visit.samples === null ? '–' : count(visit.samples)),
      sortBy: (visit) => visit.samples,
    },
    {
      name: 'Size',
      number: true,
      cell: (visit) => (visit.bytes === null ? '–' : bytesText(visit.bytes)),
      sortBy: (visit) => visit.bytes,
    },
    {
      name: 'Reason',
      cell: ({ detail, ingestion_detail }) => {
        const text = [detail, ingestion_detail].filter((part) => part !== '').join(' ');
        return text === '' ? '' : <span className="detail-text">{text}</span>;
      },
    },
  ];
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={visits}
      keyOf={(visit) => visit.visit_id}
      empty={<p className="note">No profile has been planned yet.</p>}
    />
  );
}
