/** The numbers of a series: a row for each step. */
import { useMemo } from 'react';
import { DataTable, type Column } from '../../ui/DataTable.tsx';
import { EstimateText } from '../../ui/EstimateText.tsx';
import type { Series } from './series.ts';
import { DOUBTS, stepName } from './words.ts';

interface Props {
  label: string;
  series: Series;
  /** Pixels; longer tables scroll. */
  height: number;
}

export function SeriesTable({ label, series, height }: Props) {
  const columns = useMemo<Column<number>[]>(
    () => [
      { name: 'begins', cell: (k) => stepName(series, k), sortBy: (k) => series.starts[k] },
      ...series.lines.map((line) => ({
        name: line.name,
        number: true,
        cell: (k: number) => <EstimateText estimate={line.points[k]} measure={series.measure} />,
        sortBy: (k: number) => line.points[k]?.value ?? null,
      })),
      {
        name: 'note',
        cell: (k) => {
          const doubt = series.doubts[k];
          return doubt === null ? '' : DOUBTS[doubt];
        },
      },
    ],
    [series],
  );
  const rows = useMemo(() => series.starts.map((_, k) => k), [series]);
  return (
    <div className="series-table" style={{ maxHeight: Math.max(height, 160) }}>
      <DataTable
        label={label}
        columns={columns}
        rows={rows}
        keyOf={(k) => String(series.starts[k])}
        empty="No steps in this range."
      />
    </div>
  );
}
