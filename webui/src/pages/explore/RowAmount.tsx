/** An amount of a row of the function's panel, with its interval. */
import type { TableRow } from '../../api/types.ts';
import { amountOf, measured, type Ground, type Measure } from '../../estimates/measure.ts';
import { EstimateText } from '../../ui/EstimateText.tsx';

interface AmountProps {
  row: TableRow;
  column: 'self' | 'total';
  measure: Measure;
  ground: Ground;
}

export function RowAmount({ row, column, measure, ground }: AmountProps) {
  return <EstimateText estimate={measured(amountOf(row, column), measure, ground)} measure={measure} />;
}
