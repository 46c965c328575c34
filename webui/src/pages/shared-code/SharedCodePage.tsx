/** Code that is cold in each application and used by many: what it costs the fleet, and what a saving is worth. */
import { useState } from 'react';
import type { AnswerOf } from '../../api/client.ts';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { SelectionPage } from '../../app/Page.tsx';
import { SHARED_CODE } from '../../app/pages.ts';
import { ROW_FORMATS } from '../../app/ShareMenu.tsx';
import { usePlace } from '../../app/usePlace.ts';
import { count, percent, significant } from '../../selection/numbers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Command } from '../../ui/Command.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { savedBy } from './saving.ts';
import { SharedTable } from './SharedTable.tsx';
import { UsersPanel } from './UsersPanel.tsx';
import '../reports/reports.css';
import './shared-code.css';

type Answer = AnswerOf<'/api/v1/shared-code'>;

export function SharedCodePage() {
  const [place, go] = usePlace(SHARED_CODE);
  const { asOf } = useAsOf();
  const [chosen, setChosen] = useState<{ id: number; name: string } | null>(null);
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
              <div className={chosen === null ? undefined : 'report-grid'}>
                <section className="panel" aria-label="shared code">
                  <SharedTable
                    answer={data}
                    rows={rows}
                    saving={place.saving}
                    place={place}
                    onUsers={(id, name) => setChosen(chosen?.id === id ? null : { id, name })}
                    chosen={chosen?.id ?? null}
                  />
                </section>
                {chosen !== null && (
                  <UsersPanel {...chosen} place={place} selection={selection} close={() => setChosen(null)} />
                )}
              </div>
            </>
          );
        }}
      </Answered>
    </SelectionPage>
  );
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
            or <b>{significant(saved.moneyAYear)}</b> a year
          </>
        )}
        .
      </p>
      {answer.price_per_core_hour === null && (
        <p className="note">
          For money, set the price of a core-hour where the API runs:{' '}
          <Command text="export FLEETPROF_PRICE_PER_CORE_HOUR=0.03" />
        </p>
      )}
      {hidden > 0 && <p className="note">{count(hidden)} more functions that cost less are not counted.</p>}
    </div>
  );
}
