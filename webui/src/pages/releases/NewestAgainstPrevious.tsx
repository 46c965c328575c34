/** What the newest version of an application changed. */
import { Link } from 'wouter';
import type { ReleasesAnswer } from '../../api/types.ts';
import type { Shown } from '../../app/Page.tsx';
import { ChangedFunctions } from './ChangedFunctions.tsx';
import { compareValues } from './links.ts';
import { Verdict } from './Verdict.tsx';

interface Props {
  answer: ReleasesAnswer;
  application: string;
  place: Shown;
}

export function NewestAgainstPrevious({ answer, application, place }: Props) {
  const row = answer.applications.find((a) => a.application === application);
  if (row === undefined)
    return (
      <div className="state">
        <p className="sentence">No profile of {application} in this range has a version.</p>
      </div>
    );
  const { newest, previous, comparison } = row;
  return (
    <>
      <p className="panel-title">
        <span>
          {newest}
          {previous !== null && ` against ${previous}`}:
        </span>{' '}
        <Verdict comparison={comparison} />
        {comparison !== null && !comparison.same_time && (
          <span className="note warn" title="They did not run side by side for long enough.">
            profiles of different times
          </span>
        )}
        <span className="spacer" />
        {previous !== null && (
          <Link href={compareValues(place, application, 'version', newest, previous)}>
            Compare {newest} with {previous}
          </Link>
        )}
      </p>
      {row.because !== null && <p className="note padded">{row.because.detail}</p>}
      {comparison !== null && comparison.functions.length > 0 && (
        <ChangedFunctions functions={comparison.functions} application={application} place={place} />
      )}
    </>
  );
}
