/** The actions of a table row. */
import type { TableRow } from '../api/types.ts';
import { COMPARE, FUNCTION, linkTo, SYMBOLS, type ExplorePlace } from '../app/pages.ts';
import type { ExploreGo } from '../app/usePlace.ts';
import { baseParams, withLabels, withoutValue } from '../selection/base.ts';
import { either, formatMatchers, literal, parseMatchers, withMatcher } from '../selection/matchers.ts';
import { copy } from '../ui/copy.ts';
import { markOf, titleOf } from './marks.ts';
import type { Action } from './RowMenu.tsx';

/** Number of other rows that are offered for comparison with one click: the first of the table. */
const OFFERED_OTHERS = 3;

/** `rows`: the table that contains the row, for comparisons with its neighbours. */
export function actionsOfRow(
  row: TableRow,
  by: readonly string[],
  rows: readonly TableRow[],
  place: ExplorePlace,
  go: ExploreGo,
): Action[] {
  const mark = markOf(row, by);
  const actions: Action[] = [];
  if (row.function_id != null)
    actions.push({ text: 'Open the function’s page', href: linkTo(FUNCTION, place, {}, row.function_id) });
  if (mark !== null) {
    actions.push({
      text: 'Show in the flame graph',
      run: () => go({ mark, node: '', find: '', view: place.view === 'table' ? 'flame' : place.view }),
    });
  }
  if (by.length === 1 && by[0] === 'function') actions.push(...ofFunction(row, place, go));
  else if (mark === null) actions.push(...ofLabels(row, by, rows, place, go));
  actions.push({ text: 'Copy the name', run: () => void copy(titleOf(row, by)) });
  return actions;
}

function ofFunction(row: TableRow, place: ExplorePlace, go: ExploreGo): Action[] {
  const name = row.key['function'] ?? '';
  const exactly = `^${literal(name)}$`;
  const unnamed = row.key['status'] === 'binary_only' || row.key['status'] === 'unknown';
  const binary = row.key['binary'] ?? '';
  return [
    ...(unnamed && row.key['kind'] !== 'marker'
      ? [
          {
            text: `Symbols of ${binary}`,
            href: linkTo(SYMBOLS, {}, { show: 'all', find: binary.slice(0, 200) }),
          },
        ]
      : []),
    { text: 'Keep stacks containing it', run: () => go({ focus: exactly }) },
    { text: 'Drop stacks containing it', run: () => go({ ignore: either(place.ignore, exactly) }) },
    { text: 'Hide its frames', run: () => go({ hide: either(place.hide, exactly), node: '' }) },
    { text: 'Start stacks at it', run: () => go({ show_from: exactly, node: '' }) },
    {
      text: 'Which applications run it',
      run: () => go({ focus: exactly, by: 'application', find: '', sort: '-total' }),
    },
    {
      text: 'Compare with the previous period',
      href: linkTo(COMPARE, place, { find: name }),
    },
  ];
}

function ofLabels(
  row: TableRow,
  by: readonly string[],
  rows: readonly TableRow[],
  place: ExplorePlace,
  go: ExploreGo,
): Action[] {
  const name = titleOf(row, by);
  const matchers = parseMatchers(place.select) ?? [];
  const filtered = (operator: '=' | '!='): string =>
    formatMatchers(
      by.reduce((all, label) => withMatcher(all, { label, operator, value: row.key[label] ?? '' }), matchers),
    );
  const actions: Action[] = [
    { text: `Only ${name}`, run: () => go({ select: filtered('='), by: 'function', find: '' }) },
    { text: 'Only this, same table', run: () => go({ select: filtered('=') }) },
  ];
  if (by.length === 1) actions.push({ text: `Without ${name}`, run: () => go({ select: filtered('!=') }) });

  const select = withLabels(place.select, by, row.key);
  const compare = (text: string, base: Parameters<typeof baseParams>[0]): Action => ({
    text,
    href: linkTo(COMPARE, { ...place, select }, baseParams(base)),
  });
  actions.push(compare('Compare with the previous period', {}));
  for (const other of rows.filter((r) => r !== row).slice(0, OFFERED_OTHERS)) {
    const base = { select: withLabels(place.select, by, other.key) };
    actions.push(compare(`Compare with ${titleOf(other, by)}`, base));
  }
  if (by.length === 1 && rows.length > 2) {
    const [label] = by;
    const base = { select: withoutValue(place.select, label, row.key[label] ?? '') };
    actions.push(compare('Compare with all others', base));
  }
  return actions;
}
