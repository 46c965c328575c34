import { describe, expect, it } from 'vitest';
import { nextOrder, orderOf, orderText } from '../../../src/pages/machines/order.ts';

describe('the order of machines', () => {
  it('round-trips through the URL, and a text that is no order is the name', () => {
    expect(orderText(orderOf('-failures'))).toBe('-failures');
    expect(orderOf('size')).toEqual({ sort: 'name', descending: false });
  });

  it('begins with the largest number and turns on a second click', () => {
    const first = nextOrder(orderOf('name'), 'failures');
    expect(orderText(first)).toBe('-failures');
    expect(orderText(nextOrder(first, 'failures'))).toBe('failures');
  });
});
