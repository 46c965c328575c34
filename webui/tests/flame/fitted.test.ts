import { expect, it } from 'vitest';
import { fitted } from '../../src/ui/fitted.ts';

/** 13 px DejaVu Sans Mono. */
const CHARACTER = 7.83;

it('tells names apart that differ in their last part only, in 200 pixels', () => {
  const update = 'acme.dev/checkout/internal/block.(*Block).Update';
  const verify = 'acme.dev/checkout/internal/block.(*Block).Verify';
  expect(fitted(update, 200, CHARACTER)).toBe('block.(*Block).Update');
  expect(fitted(verify, 200, CHARACTER)).toBe('block.(*Block).Verify');
});

it('never needs more than the width', () => {
  const name = 'acme.dev/checkout/internal/audit.(*Writer).flush.func1';
  for (let width = 0; width < 500; width += 7)
    expect(fitted(name, width, CHARACTER).length * CHARACTER).toBeLessThanOrEqual(width + 0.1);
  expect(fitted(name, 1000, CHARACTER)).toBe(name);
});
