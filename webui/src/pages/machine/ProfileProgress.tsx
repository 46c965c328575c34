/** Where a requested profile is: planned, sampled, processed; then a link to it. */
import { Link } from 'wouter';
import type { VisitRow } from '../../api/types.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { Answered } from '../../ui/states/Answered.tsx';
import { OUTCOMES } from '../../views/fleet/words.ts';
import { linkToProfile } from './address.ts';

const EVERY_MS = 1_000;

export function ProfileProgress({ visit, machine }: { visit: string; machine: string }) {
  const answer = useAnswer(
    '/api/v1/visits',
    { visit_id: visit },
    { every: (known) => (isOver(known?.visits[0]) ? false : EVERY_MS) },
  );
  return (
    <Answered query={answer} what="the requested profile" skeleton={<span className="bone" />}>
      {(data) => {
        const row = data.visits.find(({ visit_id }) => visit_id === visit);
        if (row === undefined && answer.isPlaceholderData) return null;
        if (row === undefined) return <p role="status">The requested profile is not stored any more.</p>;
        return (
          <p role="status">
            <Sentence visit={row} machine={machine} />
          </p>
        );
      }}
    </Answered>
  );
}

/** Whether nothing about it will change. */
function isOver(visit: VisitRow | undefined): boolean {
  if (visit === undefined || visit.outcome === 'drawn') return false;
  return visit.outcome !== 'answered' || (visit.ingestion !== null && visit.ingestion !== 'waiting');
}

function Sentence({ visit, machine }: { visit: VisitRow; machine: string }) {
  const dots = <span className="dots" aria-hidden="true" />;
  if (visit.outcome === 'drawn') {
    return (
      <>
        {visit.started_at === null ? 'The collector takes the request' : 'The gateway samples the machine'}
        {dots}
      </>
    );
  }
  if (visit.outcome !== 'answered') {
    return (
      <span className="bad">
        The profile failed ({OUTCOMES[visit.outcome].text}). {visit.detail}
      </span>
    );
  }
  switch (visit.ingestion) {
    case 'ingested':
      return (
        <>
          The profile is ready. <Link href={linkToProfile({ ...visit, machine })}>Show it</Link>
        </>
      );
    case 'quarantined':
    case 'expired':
      return <span className="bad">The profile could not be processed. {visit.ingestion_detail}</span>;
    default:
      return <>The profile is received and is being processed{dots}</>;
  }
}
