/** The latest profiles of the machine; more of them on request. */
import type { MachineAnswer } from '../../api/types.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { plural } from '../../selection/numbers.ts';
import { ProfilesTable } from '../../views/fleet/ProfilesTable.tsx';
import { ProblemText } from '../../views/fleet/ProblemText.tsx';
import { linkToProfile } from './address.ts';

/** In the answer about the machine. */
const FEW = 20;
const MANY = 500;
const EVERY_MS = 10_000;

interface Props {
  machine: MachineAnswer;
  now: number;
  /** Up to MANY instead of those of the answer about the machine. */
  more: boolean;
  showMore: () => void;
}

export function Profiles({ machine, now, more, showMore }: Props) {
  const longer = useAnswer(
    '/api/v1/visits',
    { machine: machine.name, limit: MANY },
    { enabled: more, every: EVERY_MS },
  );
  const visits = (more && longer.data?.visits) || machine.visits;
  return (
    <section className="panel wide" aria-label="profiles">
      <h2>
        Profiles <span className="note">the newest first</span>
      </h2>
      <ProfilesTable label="profiles of this machine" visits={visits} now={now} linkOf={linkToProfile} />
      <ProblemText error={more ? longer.error : null} />
      <p className="pager note">
        {plural(visits.length, 'profile')} shown.{' '}
        {!more && visits.length >= FEW && (
          <button type="button" onClick={showMore}>
            Show up to {MANY}
          </button>
        )}
      </p>
    </section>
  );
}
