/** The questions that fleetprof answers by models, in groups. */
import { Link } from 'wouter';
import { SelectionPage } from '../../app/Page.tsx';
import { linkTo, RELIABILITY, REPORT, REPORTS, SHARED_CODE } from '../../app/pages.ts';
import { usePlace } from '../../app/usePlace.ts';
import { GROUPS, type Group } from './report.ts';
import { REPORT_LIST } from './registry.ts';
import './reports.css';

interface Entry {
  href: string;
  question: string;
  needs: string;
}

export function ReportsPage() {
  const [place, go] = usePlace(REPORTS);
  const others: Partial<Record<Group, Entry[]>> = {
    'Data quality': [
      {
        href: linkTo(RELIABILITY, place),
        question: 'How reliable is this profile, and what would more profiles improve?',
        needs: 'Profiles drawn at random.',
      },
    ],
    Capacity: [
      {
        href: linkTo(SHARED_CODE, place),
        question: 'Which code is cold in each program, but hot in the fleet?',
        needs: 'CPU profiles; money needs a price per core-hour.',
      },
    ],
  };
  return (
    <SelectionPage title="Reports" className="report-index" place={place} go={go} share={null}>
      <h1>Reports</h1>
      <div className="report-groups">
        {GROUPS.map((group) => (
          <section key={group} className="panel" aria-label={group}>
            <h2>{group}</h2>
            <ul>
              {[
                ...REPORT_LIST.filter((report) => report.group === group).map(
                  ({ kind, question, needs }): Entry => ({
                    href: linkTo(REPORT, place, {}, kind),
                    question,
                    needs,
                  }),
                ),
                ...(others[group] ?? []),
              ].map(({ href, question, needs }) => (
                <li key={href}>
                  <Link href={href}>{question}</Link>
                  <span className="note">{needs}</span>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </SelectionPage>
  );
}
