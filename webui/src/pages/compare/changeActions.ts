/** The actions of a row of a comparison. */
import type { DiffRow } from '../../api/types.ts';
import { EXPLORE, FUNCTION, linkTo, type ComparePlace } from '../../app/pages.ts';
import type { CompareGo } from '../../app/usePlace.ts';
import { baseOf } from '../../selection/base.ts';
import { either, literal } from '../../selection/matchers.ts';
import { markOf, titleOf } from '../../table/marks.ts';
import type { Action } from '../../table/RowMenu.tsx';
import { copy } from '../../ui/copy.ts';

export function actionsOfChange(
  row: DiffRow,
  by: readonly string[],
  place: ComparePlace,
  go: CompareGo,
): Action[] {
  const actions: Action[] = [];
  const before = { ...place, ...baseOf(place) };
  if (row.function_id != null) {
    const exactly = `^${literal(row.key['function'] ?? '')}$`;
    const fn = row.function_id;
    actions.push(
      { text: 'Open the function’s page', href: linkTo(FUNCTION, place, {}, row.function_id) },
      { text: 'Open the function’s page before', href: linkTo(FUNCTION, before, {}, row.function_id) },
      { text: 'Compare its call paths', run: () => go({ view: 'flame', focus: exactly, node: '' }) },
      { text: 'Compare its source lines', run: () => go({ view: 'lines', fn }) },
      { text: 'Drop stacks containing it', run: () => go({ ignore: either(place.ignore, exactly) }) },
    );
  }
  const mark = markOf(row, by);
  if (mark !== null)
    actions.push({ text: 'Show in the flame graph', href: linkTo(EXPLORE, place, { mark, view: 'flame' }) });
  actions.push({ text: 'Copy the name', run: () => void copy(titleOf(row, by)) });
  return actions;
}
