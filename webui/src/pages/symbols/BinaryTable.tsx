/** Binaries by the amount of samples without names; a row expands to its details. */
import { Fragment } from 'react';
import type { BinarySymbols, SymbolsAnswer } from '../../api/types.ts';
import { write } from '../../estimates/measure.ts';
import { Whisker } from '../../estimates/Whisker.tsx';
import { bracket, spoken } from '../../estimates/words.ts';
import { count, duration } from '../../selection/numbers.ts';
import { BinaryDetails } from './BinaryDetails.tsx';
import type { SymbolsPlace } from '../../app/pages.ts';
import { ReprocessingProgress } from './ReprocessingProgress.tsx';
import type { Go } from '../../app/usePlace.ts';
import { firstSentence, qualityOf, shortKey, stateOf } from './words.ts';

const COLUMNS: readonly { sort: SymbolsPlace['sort']; text: string; title: string; number: boolean }[] = [
  { sort: 'name', text: 'Binary', title: 'by name', number: false },
  {
    sort: 'cpu',
    text: 'CPU without names',
    title: 'share of the fleet’s CPU time in samples whose stack contains unnamed code of this binary',
    number: true,
  },
  {
    sort: 'samples',
    text: 'Samples',
    title: 'samples of the last day whose stack contains this binary',
    number: true,
  },
  { sort: 'machines', text: 'Machines', title: 'machines with samples in its unnamed code', number: true },
];

interface Props {
  answer: SymbolsAnswer;
  place: SymbolsPlace;
  go: Go<SymbolsPlace>;
  say: (text: string) => void;
}

export function BinaryTable({ answer, place, go, say }: Props) {
  const shares = answer.binaries.map((b) => b.share?.value ?? 0);
  const full = Math.max(...shares, 0) || 1;
  return (
    <table className="binaries">
      <caption className="sr-only">Binaries by CPU time in unnamed functions</caption>
      <thead>
        <tr>
          {COLUMNS.map((column) => (
            <th
              key={column.sort}
              scope="col"
              className={column.number ? `number ${column.sort}` : column.sort}
              aria-sort={place.sort !== column.sort ? 'none' : column.number ? 'descending' : 'ascending'}
            >
              <button
                type="button"
                className="sort"
                title={column.title}
                onClick={() => go({ sort: column.sort })}
              >
                {column.text}
                <span aria-hidden="true">
                  {place.sort !== column.sort ? '' : column.number ? ' ↓' : ' ↑'}
                </span>
              </button>
            </th>
          ))}
          <th scope="col" className="stored">
            Stored
          </th>
          <th scope="col" className="state-of">
            Missing, or in progress
          </th>
        </tr>
      </thead>
      <tbody>
        {answer.binaries.map((binary) => (
          <Fragment key={binary.key}>
            <Row
              binary={binary}
              full={full}
              open={binary.key === place.binary}
              toggle={() => go({ binary: binary.key === place.binary ? '' : binary.key })}
            />
            {binary.key === place.binary && (
              <tr className="opened">
                <td colSpan={COLUMNS.length + 2}>
                  <BinaryDetails binaryKey={binary.key} allowed={answer.upload.allowed} say={say} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  binary: BinarySymbols;
  /** The share at full width of the column. */
  full: number;
  open: boolean;
  toggle: () => void;
}

function Row({ binary, full, open, toggle }: RowProps) {
  return (
    <tr className={open ? 'binary open' : 'binary'} onClick={toggle}>
      <th scope="row" className="name">
        <span>
          <button
            type="button"
            className="expand"
            aria-expanded={open}
            onClick={(event) => {
              event.stopPropagation(); // the row would close the opened element
              toggle();
            }}
          >
            <span aria-hidden="true">{open ? '▾' : '▸'}</span>
            <span className="code text">{binary.name || binary.key}</span>
          </button>
          <span className="code note build" title={`${binary.path}\n${binary.key}`}>
            {shortKey(binary.key)}
          </span>
        </span>
      </th>
      <Hidden binary={binary} full={full} />
      <td className="number samples">{count(binary.samples)}</td>
      <td className="number machines">{binary.unresolved === 0 ? '–' : count(binary.machines)}</td>
      <td className="stored">{qualityOf(binary.quality)}</td>
      <td className="state-of">
        <State binary={binary} />
      </td>
    </tr>
  );
}

/** Time without names: share of the fleet with its interval, or the observed amount without random visits. */
function Hidden({ binary, full }: { binary: BinarySymbols; full: number }) {
  if (binary.unresolved === 0) return <td className="number cpu">–</td>;
  const seen = `${count(binary.unresolved)} samples, ${duration(binary.unresolved_cpu_seconds)} of CPU time`;
  if (binary.share === null) {
    return (
      <td className="number cpu" title={seen}>
        <b>{duration(binary.unresolved_cpu_seconds)}</b>
      </td>
    );
  }
  const cores = binary.cores === null ? '' : `, ${spoken('cores', binary.cores)}`;
  const said = `CPU without names: ${spoken('share', binary.share)}${cores}`;
  return (
    <td className="number cpu" title={`${said}\nobserved: ${seen}`}>
      <span className="amount sorted">
        <Whisker estimate={binary.share} full={full} low_confidence={binary.low_confidence} />
        <b aria-hidden="true">{write('share', binary.share.value)}</b>
        <span className="bracket" aria-hidden="true">
          {bracket('share', binary.share)}
        </span>
        <span className="sr-only">{said}</span>
      </span>
    </td>
  );
}

function State({ binary }: { binary: BinarySymbols }) {
  if (binary.disputed) return <span className="bad">Two machines sent different symbols for it.</span>;
  if (binary.reprocessing !== null && binary.reprocessing.left > 0) {
    return <ReprocessingProgress reprocessing={binary.reprocessing} />;
  }
  if (binary.building) return <span className="note">Its lines are being read.</span>;
  const why = stateOf(binary);
  return (
    <span className="note" title={why}>
      {firstSentence(why)}
    </span>
  );
}
