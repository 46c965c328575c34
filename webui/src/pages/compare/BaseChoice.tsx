/** Chooses the base of a comparison: an earlier time with one click, or any other selection. */
import { useState } from 'react';
import type { SelectionEcho } from '../../api/types.ts';
import type { CompareGo as Go } from '../../app/usePlace.ts';
import type { ComparePlace as Place } from '../../app/pages.ts';
import { fromLocalMinute, localMinute } from '../../selection/time.ts';
import { Popover } from '../../ui/Popover.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { baseOf, baseParams } from '../../selection/base.ts';
import { earlier, STEPS_BACK, type StepBack } from '../../selection/periods.ts';

interface Props {
  place: Place;
  go: Go;
  /** The base of the latest response, with its absolute times. */
  base: SelectionEcho | undefined;
}

export function BaseChoice({ place, go, base }: Props) {
  const now = baseOf(place);
  const steps = (Object.keys(STEPS_BACK) as StepBack[]).flatMap((value) => {
    const range = earlier(place, value);
    return range === null ? [] : [{ value, range }];
  });
  const chosen = steps.find(
    ({ range }) => now.select === place.select && now.from === range.from && now.to === range.to,
  );
  return (
    <>
      <Segments
        label="base"
        value={chosen?.value ?? null}
        options={steps.map(({ value }) => ({ value, text: value, title: `compare with ${value}` }))}
        onChange={(value) =>
          go(baseParams(value === 'previous period' ? {} : steps.find((s) => s.value === value)!.range))
        }
      />
      <Popover
        label="another base"
        buttonClass={chosen === undefined ? 'chosen' : ''}
        button="Other base…"
        title="compare with any other selection"
      >
        {(close) => <AnyBase place={place} go={go} base={base} close={close} />}
      </Popover>
    </>
  );
}

function AnyBase({ place, go, base, close }: Props & { close: () => void }) {
  const now = baseOf(place);
  const [select, setSelect] = useState(now.select);
  const [from, setFrom] = useState(localMinute(base?.from ?? '', 'T'));
  const [to, setTo] = useState(localMinute(base?.to ?? '', 'T'));
  const range = { from: fromLocalMinute(from), to: fromLocalMinute(to) };
  const backwards = range.from !== null && range.to !== null && range.from >= range.to;
  return (
    <form
      className="stack base"
      onSubmit={(event) => {
        event.preventDefault();
        if (range.from === null || range.to === null || backwards) return;
        go(baseParams({ select: select.trim(), from: range.from, to: range.to, campaign: now.campaign }));
        close();
      }}
    >
      <label className="field">
        Filters
        <input
          type="text"
          className="code"
          value={select}
          placeholder="everything"
          spellCheck={false}
          onChange={(e) => setSelect(e.target.value)}
        />
      </label>
      <label className="field">
        From
        <input type="datetime-local" value={from} onChange={(e) => setFrom(e.target.value)} />
      </label>
      <label className="field">
        To
        <input type="datetime-local" value={to} onChange={(e) => setTo(e.target.value)} />
      </label>
      {backwards && <p className="note">The range ends before it begins.</p>}
      <div className="row">
        <button
          type="submit"
          className="primary"
          disabled={range.from === null || range.to === null || backwards}
        >
          Compare
        </button>
        <button
          type="button"
          title="compare with these filters in the time range of the selection"
          onClick={() => {
            go(baseParams({ select: select.trim() }));
            close();
          }}
        >
          In the selection’s time range
        </button>
      </div>
    </form>
  );
}
