/** Callers and callees of a function as two lists, from the rows of `/api/v1/callers`. */
import type { components } from '../../api/schema.gen.ts';
import type { Estimate } from '../../estimates/interval.ts';
import { amountOf, measured, type Ground, type Measure } from '../../estimates/measure.ts';

export type CallersAnswer = components['schemas']['CallersAnswer'];
type CallRow = CallersAnswer['rows'][number];

export interface Neighbour {
  /** null: the stacks begin at the function. */
  id: number | null;
  name: string;
  binary: string;
  file: string;
  isItself: boolean;
  /** Share of the function's total, 0 to 1: of stacks through it that have this call. */
  ofFunction: number;
  /** The call's total in the page's unit; null: the answer does not have it. */
  amount: Estimate | null;
  low_confidence: boolean;
}

export interface Butterfly {
  callers: Neighbour[];
  callees: Neighbour[];
  /** Numbers of neighbours that the answer leaves out. */
  moreCallers: number;
  moreCallees: number;
}

export function butterflyOf(answer: CallersAnswer, measure: Measure, ground: Ground): Butterfly {
  const own = new Set(answer.functions.map(({ id }) => id));
  const side = (wanted: CallRow['side']): Neighbour[] =>
    answer.rows.filter(({ side }) => side === wanted).map((row) => neighbour(row, own, measure, ground));
  const [callers, callees] = [side('caller'), side('callee')];
  return {
    callers,
    callees,
    moreCallers: answer.callers_total - callers.length,
    moreCallees: answer.callees_total - callees.length,
  };
}

function neighbour(row: CallRow, own: Set<number>, measure: Measure, ground: Ground): Neighbour {
  return {
    id: row.function_id,
    name: row.key['function'] ?? '',
    binary: row.key['binary'] ?? '',
    file: row.key['file'] ?? '',
    isItself: row.function_id !== null && own.has(row.function_id),
    ofFunction: row.of_function,
    amount: measured(amountOf(row, 'total'), measure, ground),
    low_confidence: row.low_confidence,
  };
}
