/** The table of changes with its choices. */
import { usePrice } from '../../app/usePrice.ts';
import { useMemo } from 'react';
import type { DiffAnswer, StatusAnswer } from '../../api/types.ts';
import type { ComparePlace } from '../../app/pages.ts';
import type { CompareGo } from '../../app/usePlace.ts';
import { GroupKeys } from '../../table/GroupKeys.tsx';
import { isOfFrames, matchesFind, titleOf } from '../../table/marks.ts';
import { Segments } from '../../ui/Segments.tsx';
import { changeOf, inOrder, isShown, ONLY, type ChangedRow, type Unit } from './change.ts';
import { DiffTable } from './DiffTable.tsx';
import { shortSidesOf } from './sides.ts';
import { Verdict } from './Sides.tsx';

const COLUMNS = [
  { value: 'total', text: 'total', title: 'compare time in the functions and their callees' },
  { value: 'self', text: 'self', title: 'compare time in the functions’ own code' },
] as const;
const ONLY_WORDS = { all: 'All', significant: 'Only significant', slower: 'More', faster: 'Less' } as const;

interface Props {
  answer: DiffAnswer;
  place: ComparePlace;
  go: CompareGo;
  status: StatusAnswer | undefined;
}

export function DiffPanel({ answer, place, go, status }: Props) {
  const missing = useMemo(() => new Map(status?.symbols.missing.map((m) => [m.binary, m.reason])), [status]);
  const price = usePrice(place);
  const wanted: Unit = place.measure === 'money' ? 'money' : place.measure === 'share' ? 'share' : 'cores';
  const unit = answer.rows.some((row) => changeOf(row, wanted, price) !== null) ? wanted : 'share';
  const rows = useMemo<ChangedRow[]>(() => {
    const matches = matchesFind(place.find, place.regex);
    const changed = answer.rows.flatMap((row) => {
      const change = changeOf(row, unit, price);
      const name = titleOf(row, answer.by);
      const found = typeof matches !== 'function' || matches(name);
      return change === null || !found ? [] : [{ row, name, change }];
    });
    return inOrder(
      changed.filter((row) => isShown(row, place.only)),
      place.sort,
    );
  }, [answer, unit, price, place.find, place.regex, place.only, place.sort]);
  return (
    <>
      <div className="bar-top">
        <GroupKeys title="By" place={place} go={(change) => go(change)} />
        {isOfFrames(place.by.split(',')) && (
          <Segments
            label="share"
            value={place.column}
            options={COLUMNS}
            onChange={(column) => go({ column })}
          />
        )}
        <Segments
          label="rows"
          value={place.only}
          options={ONLY.map((value) => ({ value, text: ONLY_WORDS[value] }))}
          onChange={(only) => go({ only })}
        />
        <input
          id="find"
          type="search"
          value={place.find}
          placeholder="Find a row"
          aria-label="find a row"
          onChange={(e) => go({ find: e.target.value }, 'replace')}
        />
        {unit !== wanted && <span className="note warn">This event has no {wanted}: shares are shown.</span>}
      </div>
      <Verdict answer={answer} unit={unit} />
      {rows.length === 0 ? (
        <div className="state">
          <p className="sentence">
            {place.find !== ''
              ? `No row matches “${place.find}”.`
              : place.only === 'all'
                ? 'There are no rows to compare.'
                : 'No row changed significantly.'}
          </p>
          <button type="button" onClick={() => go({ find: '', only: 'all' }, 'replace')}>
            Show all rows
          </button>
        </div>
      ) : (
        <DiffTable
          rows={rows}
          rowsTotal={answer.rows_total}
          by={answer.by}
          unit={unit}
          sides={shortSidesOf(answer.selection, answer.base)}
          place={place}
          go={go}
          missing={missing}
        />
      )}
    </>
  );
}
