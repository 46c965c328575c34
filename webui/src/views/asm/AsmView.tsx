/** Instructions with their samples below their source lines; jumps are links. Only visible rows are in the DOM. */
import { Link } from 'wouter';
import { shorten } from '../../flame/names.ts';
import { count, percent } from '../../selection/numbers.ts';
import { useVirtualRows } from '../../ui/useVirtualRows.ts';
import { CodeText } from '../source/CodeText.tsx';
import type { Highlighting } from '../source/parts.ts';
import { jumpOf, placeOf, type InstructionRow, type Listing } from './instructions.ts';
import './asm.css';

/** The text of a source file. */
export interface FileText {
  lines: readonly string[];
  highlighting: Highlighting | undefined;
}

interface Props {
  label: string;
  listing: Listing;
  /** Of those files whose text is known. */
  texts: ReadonlyMap<string, FileText>;
  /** The chosen instruction; empty: none. */
  address: string;
  onAddress: (address: string) => void;
  /** The address of a source line's page. */
  sourceOf: (file: string, line: number) => string;
}

/** Pixels; the same in asm.css. */
const ROW = 20;
/** Characters of a function's name. */
const NAME = 60;

export function AsmView({ label, listing, texts, address, onAddress, sourceOf }: Props) {
  const { rows, items } = listing;
  const { ref, onScroll, first, last } = useVirtualRows(items.length, ROW, listing.itemAt.get(address) ?? -1);
  return (
    <div
      ref={ref}
      className="asm-view"
      role="table"
      aria-label={label}
      aria-rowcount={items.length}
      tabIndex={0}
      onScroll={onScroll}
    >
      <div role="rowgroup" style={{ height: items.length * ROW }}>
        {items.slice(first, last).map(({ row: k, isLine }, n) => {
          const row = rows[k];
          const at = first + n;
          return isLine ? (
            <LineRow
              key={`line ${row.address}`}
              row={row}
              at={at}
              text={texts.get(row.file ?? '')}
              sourceOf={sourceOf}
            />
          ) : (
            <Row
              key={row.address}
              row={row}
              at={at}
              listing={listing}
              chosen={row.address === address}
              onAddress={onAddress}
            />
          );
        })}
      </div>
    </div>
  );
}

interface LineRowProps {
  row: InstructionRow;
  at: number;
  text: FileText | undefined;
  sourceOf: Props['sourceOf'];
}

function LineRow({ row, at, text, sourceOf }: LineRowProps) {
  const line = row.line!;
  const place = placeOf(row);
  return (
    <div role="row" aria-rowindex={at + 1} className="asm-row line" style={{ top: at * ROW }}>
      <span role="cell" className="cost" />
      <span role="rowheader" className="source">
        {row.file === null ? (
          place
        ) : (
          <Link href={sourceOf(row.file, line)} title={row.file}>
            {place}
          </Link>
        )}
        {row.inlined !== null && (
          <span className="aside" title={row.inlined}>{` in ${shorten(row.inlined, NAME)}, inlined`}</span>
        )}
      </span>
      <span role="cell" className="text">
        {text !== undefined && (
          <CodeText text={text.lines[line - 1] ?? ''} number={line} highlighting={text.highlighting} />
        )}
      </span>
    </div>
  );
}

interface RowProps {
  row: InstructionRow;
  at: number;
  listing: Listing;
  chosen: boolean;
  onAddress: (address: string) => void;
}

function Row({ row, at, listing, chosen, onAddress }: RowProps) {
  return (
    <div
      role="row"
      aria-rowindex={at + 1}
      aria-current={chosen ? 'true' : undefined}
      className={`asm-row${listing.targets.has(row.address) ? ' target' : ''}`}
      style={{ top: at * ROW }}
    >
      <span
        role="cell"
        className="cost"
        title={row.samples > 0 ? `${count(row.samples)} samples` : undefined}
      >
        {row.share > 0 && (
          <i className="bar" style={{ width: `${(100 * row.share) / listing.most}%` }} aria-hidden="true" />
        )}
        <b>{row.share > 0 ? percent(row.share) : ''}</b>
      </span>
      <span role="rowheader" className="address">
        <button type="button" tabIndex={-1} onClick={() => onAddress(row.address)}>
          {row.address}
        </button>
      </span>
      <span role="cell" className="instruction" title={row.bytes ?? undefined}>
        <b>{row.mnemonic ?? '–'}</b> <Operands row={row} listing={listing} onAddress={onAddress} />
      </span>
    </div>
  );
}

function Operands({ row, listing, onAddress }: Pick<RowProps, 'row' | 'listing' | 'onAddress'>) {
  const { target, target_name: name } = row;
  const operands = row.operands ?? '';
  const jump = jumpOf(listing, row);
  if (jump !== null)
    return (
      <>
        <button type="button" className="link" title={name ?? undefined} onClick={() => onAddress(target!)}>
          {target}
        </button>
        <span className="aside">{` ${jump}`}</span>
      </>
    );
  if (name === null || name === operands) return operands;
  if (operands === target) return <span title={`${name} ${operands}`}>{shorten(name, NAME)}</span>;
  return (
    <>
      {operands}
      <span className="aside" title={name}>{` ${shorten(name, NAME)}`}</span>
    </>
  );
}
