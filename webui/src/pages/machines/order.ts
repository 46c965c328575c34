/** The order of the machines table: a column, with `-` before it for the largest first. */
import type { MachineSort } from '../../api/types.ts';

export interface Order {
  sort: MachineSort;
  descending: boolean;
}

/** Columns whose largest values come first on the first click. */
const LARGEST_FIRST: readonly MachineSort[] = [
  'cpus',
  'last_visit',
  'visits',
  'failures',
  'busy_cores',
  'utilisation',
];
const SORTS: readonly MachineSort[] = ['name', 'datacenter', 'platform', 'kernel', ...LARGEST_FIRST];

/** Of the page's URL; a text that is no order is `name`. */
export function orderOf(text: string): Order {
  const descending = text.startsWith('-');
  const sort = SORTS.find((known) => known === (descending ? text.slice(1) : text));
  return sort === undefined ? { sort: 'name', descending: false } : { sort, descending };
}

export function orderText({ sort, descending }: Order): string {
  return descending ? `-${sort}` : sort;
}

/** After a click on a column's heading. */
export function nextOrder(order: Order, sort: MachineSort): Order {
  return order.sort === sort
    ? { sort, descending: !order.descending }
    : { sort, descending: LARGEST_FIRST.includes(sort) };
}
