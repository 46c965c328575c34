/** The lines with samples as a table. */
import type { components } from '../../api/schema.gen.ts';
import { amountOf, measured, type Ground } from '../../estimates/measure.ts';
import { DataTable } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import type { AnnotatedSource } from '../../views/source/annotated.ts';
import type { SourceProps } from './types.ts';

type LineRow = components['schemas']['LineRow'];

/** Rows in the table; the text has all. */
const SHOWN = 300;

interface Props {
  rows: readonly LineRow[];
  /** null: the text is not known. */
  source: AnnotatedSource | null;
  ground: Ground;
  place: SourceProps['place'];
  onLine: (line: number) => void;
}

export function HotLineTable({ rows, source, ground, place, onLine }: Props) {
  const hottest = [...rows].sort((a, b) => b.total_share - a.total_share).slice(0, SHOWN);
  const amount = (column: 'self' | 'total') => ({
    name: column,
    number: true,
    cell: (row: LineRow) => (
      <EstimateText
        estimate={measured(amountOf(row, column), place.measure, ground)}
        measure={place.measure}
      />
    ),
    sortBy: (row: LineRow) => row[`${column}_share`],
  });
  return (
    <DataTable
      label="lines with samples"
      rows={hottest}
      keyOf={(row) => `${row.line} ${row.function_id}`}
      empty={<p className="sentence">No samples of this file in the selection.</p>}
      columns={[
        {
          name: 'line',
          number: true,
          cell: (row) => (
            <button type="button" className="link" onClick={() => onLine(row.line)}>
              {row.line}
            </button>
          ),
          sortBy: (row) => row.line,
        },
        amount('total'),
        amount('self'),
        {
          name: 'text',
          cell: (row) => <code className="wrap">{source?.lines[row.line - 1]?.text ?? ''}</code>,
        },
      ]}
    />
  );
}
