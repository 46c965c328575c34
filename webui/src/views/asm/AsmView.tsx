/** Instructions with their samples, jump targets as links, and source lines. Only visible rows are in the DOM. */
import { Link } from 'wouter';
import { count, percent } from '../../selection/numbers.ts';
import { useVirtualRows } from '../../ui/useVirtualRows.ts';
import { beginsLine, type InstructionRow, type Listing } from './instructions.ts';
import './asm.css';

interface Props {
  label: string;
  listing: Listing;
  /** The chosen instruction; empty: none. */
  address: string;
  onAddress: (address: string) => void;
  /** The address of a source line's page. */
  sourceOf: (file: string, line: number) => string;
}

/** Pixels; the same in asm.css. */
const ROW = 20;

export function AsmView({ label, listing, address, onAddress, sourceOf }: Props) {
  const { rows } = listing;
  const { ref, onScroll, first, last } = useVirtualRows(rows.length, ROW, listing.at.get(address) ?? -1);
  return (
    <div
      ref={ref}
      className="asm-view"
      role="table"
      aria-label={label}
      aria-rowcount={rows.length}
      tabIndex={0}
      onScroll={onScroll}
    >
      <div role="rowgroup" style={{ height: rows.length * ROW }}>
        {rows.slice(first, last).map((row, k) => (
          <Row
            key={row.address}
            row={row}
            at={first + k}
            listing={listing}
            chosen={row.address === address}
            onAddress={onAddress}
            source={
              row.file !== null && row.line !== null && beginsLine(rows, first + k)
                ? sourceOf(row.file, row.line)
                : null
            }
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  row: InstructionRow;
  at: number;
  listing: Listing;
  chosen: boolean;
  onAddress: (address: string) => void;
  /** Link to the source line; null: the same line as above, or not known. */
  source: string | null;
}

function Row({ row, at, listing, chosen, onAddress, source }: RowProps) {
  const { target } = row;
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
        <b>{row.mnemonic ?? '–'}</b>{' '}
        {target !== null && listing.at.has(target) ? (
          <button type="button" className="link" onClick={() => onAddress(target)}>
            {row.target_name ?? target}
          </button>
        ) : (
          <>
            {row.operands ?? ''}
            {row.target_name !== null && row.target_name !== row.operands && (
              <span className="aside">{` ${row.target_name}`}</span>
            )}
          </>
        )}
      </span>
      <span role="cell" className="source">
        {source !== null && (
          <Link
            href={source}
            title={row.file ?? ''}
          >{`${(row.file ?? '').split('/').at(-1)}:${row.line}`}</Link>
        )}
        {source !== null && row.inlined !== null && (
          <span className="aside">{` inlined ${row.inlined}`}</span>
        )}
      </span>
    </div>
  );
}
