/** The instructions of a function with the samples at each. */
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { useAnswer } from '../../api/useAnswer.ts';
import { useAsOf } from '../../app/asOf.tsx';
import { ASM, FUNCTION, linkTo, SOURCE, type PlaceOf } from '../../app/pages.ts';
import { SelectionPage } from '../../app/Page.tsx';
import { useKeys, type Keys } from '../../app/useKeys.ts';
import { useParts } from '../../app/useParts.ts';
import { usePlace, type Go } from '../../app/usePlace.ts';
import { count, percent, plural } from '../../selection/numbers.ts';
import { selectionOf } from '../../selection/selection.ts';
import { Command } from '../../ui/Command.tsx';
import { DataTable } from '../../ui/DataTable.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Answered } from '../../ui/states/Answered.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import '../source/source-page.css';
import { AsmView } from '../../views/asm/AsmView.tsx';
import {
  placeOf,
  listingOf,
  nextHotRow,
  type DisassemblyAnswer,
  type InstructionRow,
} from '../../views/asm/instructions.ts';

import { useFileTexts } from './useFileTexts.ts';

export function AsmPage() {
  const [place, go] = usePlace(ASM);
  const [binary, fn] = useParts(ASM);
  const { asOf } = useAsOf();
  // A number is a function's id; a name is for addresses that people write.
  const wanted = /^\d+$/.test(fn) ? { function_id: Number(fn) } : { function: fn };
  const query = {
    ...selectionOf(place, asOf),
    ...wanted,
    binary,
    ...(place.build_id === '' ? {} : { build_id: place.build_id }),
  };
  const answer = useAnswer('/api/v1/disassembly', query);
  const name = answer.data?.functions[0]?.name;
  return (
    <SelectionPage
      title={name ? `Assembly of ${name}` : 'Assembly'}
      className="asm"
      place={place}
      go={go}
      share={{ route: '/api/v1/disassembly', query, formats: [] }}
      busy={answer.isFetching}
    >
      <header className="source-heading">
        <h1 className="code">{name ?? fn}</h1>
        <p className="note">
          <Link href={linkTo(SOURCE, place, {}, binary)}>{binary}</Link>
          {answer.data?.functions[0] && (
            <>
              {' · '}
              <Link href={linkTo(FUNCTION, place, {}, answer.data.functions[0].id)}>
                callers, callees, over time
              </Link>
            </>
          )}
        </p>
      </header>
      <section className="panel" aria-label="instructions">
        <Answered query={answer} what="the instructions" skeleton={<TableSkeleton />} shown={{ place, go }}>
          {(data) => <Instructions answer={data} binary={binary} place={place} go={go} />}
        </Answered>
      </section>
    </SelectionPage>
  );
}

interface Props {
  answer: DisassemblyAnswer;
  binary: string;
  place: PlaceOf<typeof ASM>;
  go: Go<PlaceOf<typeof ASM>>;
}

function Instructions({ answer, binary, place, go }: Props) {
  const [as, setAs] = useState<'listing' | 'hot'>('listing');
  const listing = useMemo(() => listingOf(answer.rows), [answer.rows]);
  const texts = useFileTexts(answer);
  const onAddress = (address: string): void => go({ address });
  useKeys(
    'This page',
    useMemo<Keys>(() => {
      const step = (by: 1 | -1) => (): void => {
        const row = nextHotRow(listing, listing.at.get(place.address) ?? -1, by);
        if (row >= 0) go({ address: listing.rows[row].address }, 'replace');
      };
      return { n: ['next hot instruction', step(1)], p: ['previous hot instruction', step(-1)] };
    }, [listing, place.address, go]),
  );
  const { code, captures, builds } = answer;
  return (
    <>
      <div className="bar-top">
        <Segments
          label="show"
          value={as}
          options={[
            { value: 'listing', text: 'Instructions' },
            { value: 'hot', text: 'Hot instructions' },
          ]}
          onChange={setAs}
        />
        {builds.length > 1 && (
          <label className="field inline">
            build
            <select
              value={answer.build_id ?? ''}
              onChange={(e) => go({ build_id: e.target.value, address: '' })}
            >
              {builds.map((build) => (
                <option key={build.key} value={build.key}>
                  {build.key.slice(0, 12)}: self {percent(build.self_share)}
                </option>
              ))}
            </select>
          </label>
        )}
        <span className="note">
          {plural(answer.samples, 'sample')} in its own code, with their share at each instruction;{' '}
          {plural(listing.hot.length, 'hot instruction')} ( n, p )
        </span>
      </div>
      <div className="asm-remarks note">
        <p>{captures.sentence}</p>
        {answer.cut !== null && <p>{answer.cut}</p>}
        {answer.unknown_build_samples > 0 && (
          <p>
            {count(answer.unknown_build_samples)} samples are of profiles with several builds of the binary.
          </p>
        )}
      </div>
      {code.missing !== null && (
        <div className="state" role="status">
          <p className="sentence">No instructions of this function.</p>
          <p>{code.missing}</p>
          <p>
            Upload the binary: <Command text={`fleetprof symbols upload ${binary}`} />
          </p>
          {listing.rows.length > 0 && <p className="note">The rows below are the addresses with samples.</p>}
        </div>
      )}
      {as === 'hot' ? (
        <HotInstructions rows={listing.hot.map((k) => listing.rows[k])} onAddress={onAddress} />
      ) : (
        listing.rows.length > 0 && (
          <AsmView
            label="instructions of the function"
            listing={listing}
            texts={texts}
            address={place.address}
            onAddress={onAddress}
            sourceOf={(file, line) => linkTo(SOURCE, place, { path: file, line }, binary)}
          />
        )
      )}
    </>
  );
}

function HotInstructions({
  rows,
  onAddress,
}: {
  rows: InstructionRow[];
  onAddress: (address: string) => void;
}) {
  return (
    <DataTable
      label="hot instructions"
      rows={rows}
      keyOf={(row) => row.address}
      sorted="share"
      empty={<p className="sentence">No samples in the function’s own code.</p>}
      columns={[
        {
          name: 'address',
          cell: (row) => (
            <button type="button" className="link code" onClick={() => onAddress(row.address)}>
              {row.address}
            </button>
          ),
          sortBy: (row) => row.address,
        },
        { name: 'share', number: true, cell: (row) => percent(row.share), sortBy: (row) => row.share },
        { name: 'samples', number: true, cell: (row) => count(row.samples), sortBy: (row) => row.samples },
        {
          name: 'instruction',
          cell: (row) => <code>{`${row.mnemonic ?? ''} ${row.operands ?? ''}`}</code>,
        },
        {
          name: 'line',
          cell: placeOf,
        },
      ]}
    />
  );
}
