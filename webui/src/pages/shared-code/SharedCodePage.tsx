/** Code that is cold in each application and used by many: what it costs the fleet, and what a saving is worth. */
import { Link } from 'wouter';
import type { AnswerOf } from '../../api/client.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage } from '../../app/Page.tsx';
import { linkTo, SETTINGS, SHARED_CODE } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { usePlace } from '../../app/usePlace.ts';
import { times } from '../../estimates/interval.ts';
import { figure, NUMBER } from '../../views/chart/quantity.ts';
import { count, percent, significant } from '../../selection/numbers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Command } from '../../ui/Command.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { BarChart } from '../../views/chart/BarChart.tsx';
import { savedBy } from './saving.ts';
import { SharedTable } from './SharedTable.tsx';
import { UsersPanel } from './UsersPanel.tsx';
import '../reports/reports.css';
import './shared-code.css';

const LARGEST = 12;
const CORES = { digits: significant, suffix: ' cores' };

type Answer = AnswerOf<'/api/v1/shared-code'>;

export function SharedCodePage() {
  const [place, go] = usePlace(SHARED_CODE);
  const { asOf } = useAsOf();
  const selection = selectionOf(place, asOf);
  const query = { ...selection, limit: 200 };
  const answer = useAnswer('/api/v1/shared-code', query);
  const wanted = place.find.toLowerCase();
  return (
    <SelectionPage
      title="Shared code"
      className="report-page"
      place={place}
      go={go}
      share={{ route: '/api/v1/shared-code', query, formats: ROW_FORMATS }}
      busy={answer.isFetching}
    >
      <h1>Which code is cold in each program, but hot in the fleet?</h1>
      <Answered query={answer} what="shared code" skeleton={<TableSkeleton />} shown={{ place, go }}>
        {(data) => {
          const rows = data.rows.filter((row) =>
            `${row.key['function']} ${row.key['binary']}`.toLowerCase().includes(wanted),
          );
          const chosen = data.rows.find((row) => row.function_id === place.users);
          return (
            <>
              <section className="panel shared-saving" aria-label="saving">
                <Saving
                  answer={data}
                  rows={rows}
                  saving={place.saving}
                  onSaving={(saving) => go({ saving }, 'replace')}
                />
                <label className="report-field">
                  <span>Only functions or binaries that contain</span>
                  <input
                    type="search"
                    value={place.find}
                    spellCheck={false}
                    onChange={(event) => go({ find: event.target.value }, 'replace')}
                  />
                </label>
              </section>
              <Largest rows={rows} />
              <div className={place.users === 0 ? undefined : 'report-grid'}>
                <section className="panel" aria-label="shared code">
                  <SharedTable
                    answer={data}
                    rows={rows}
                    saving={place.saving}
                    place={place}
                    onUsers={(id) => go({ users: id === place.users ? 0 : id })}
                    chosen={place.users === 0 ? null : place.users}
                  />
                </section>
                {place.users !== 0 && (
                  <UsersPanel
                    id={place.users}
                    name={chosen?.key['function'] ?? 'this function'}
                    place={place}
                    selection={selection}
                    close={() => go({ users: 0 })}
                  />
                )}
              </div>
            </>
          );
        }}
      </Answered>
    </SelectionPage>
  );
}

/** One function's part of the sum, with its interval. */
function LargestSaving({ rows, saving }: Pick<SavingProps, 'rows' | 'saving'>) {
  const [largest] = rows;
  const cores = largest?.cost.cores;
  if (!cores) return null;
  const money = largest.cost.money_a_year;
  return (
    <p className="note">
      Of it {nameOf(largest)} alone: {figure(times(cores, saving / 100), CORES)}
      {money !== null && `, in money a year ${figure(times(money, saving / 100), NUMBER)}`}. In brackets: the
      range that contains the true value with 95 % confidence.
    </p>
  );
}

/** The functions that cost most, with their intervals. The sentence above has sums, whose intervals are not known. */
function Largest({ rows }: { rows: Answer['rows'] }) {
  const drawn = rows.filter((row) => row.cost.cores !== null).slice(0, LARGEST);
  if (drawn.length === 0) return null;
  return (
    <section className="panel shared-largest" aria-label="largest">
      <BarChart
        label="The largest shared functions"
        unit={CORES}
        series={['cores']}
        rows={drawn.map((row) => ({ name: nameOf(row), values: [row.cost.cores] }))}
      />
    </section>
  );
}

function nameOf({ key }: Answer['rows'][number]): string {
  return key['function'] ?? key['binary'];
}

interface SavingProps {
  answer: Answer;
  rows: Answer['rows'];
  saving: number;
  onSaving: (saving: number) => void;
}

function Saving({ answer, rows, saving, onSaving }: SavingProps) {
  const saved = savedBy(rows, saving);
  const hidden = answer.rows_total - answer.rows.length;
  return (
    <div className="shared-sum">
      <label className="report-field">
        <span>Saving: {saving} % of this code</span>
        <input
          type="range"
          min={1}
          max={100}
          value={saving}
          aria-valuetext={`${saving} percent`}
          onChange={(event) => onSaving(Number(event.target.value))}
        />
      </label>
      <p className="report-sentence" role="status">
        {count(rows.length)} functions use {percent((100 * saved.share) / saving)} of the CPU time; {saving} %
        of that is <b>{saved.cores === null ? percent(saved.share) : `${significant(saved.cores)} cores`}</b>
        {saved.coreHours !== null && <> ({significant(saved.coreHours)} core-hours in this range)</>}
        {saved.moneyAYear !== null && (
          <>
            {' '}
            or <b>{significant(saved.moneyAYear)}</b> in money a year
          </>
        )}
        .
      </p>
      {answer.price_per_core_hour === null && (
        <p className="note">
          For money, set prices of the platforms in <Link href={linkTo(SETTINGS)}>Settings</Link>, or one
          price for all where the API runs: <Command text="export FLEETPROF_PRICE_PER_CORE_HOUR=0.03" />
        </p>
      )}
      <LargestSaving rows={rows} saving={saving} />
      {hidden > 0 && <p className="note">{count(hidden)} more functions that cost less are not counted.</p>}
    </div>
  );
}
