/** The price of the selection's core-hours: the API computes it from its platforms and their prices. */
import { useAnswer } from '../api/useAnswer.ts';
import type { AnswerOf } from '../api/client.ts';
import { selectionOf } from '../selection/selection.ts';
import { useAsOf } from './asOf.tsx';
import type { Shown } from './Page.tsx';

/** Undefined while money is not the unit, and until the answer is there. */
export function useCost(place: Shown): AnswerOf<'/api/v1/cost'> | undefined {
  const { asOf } = useAsOf();
  return useAnswer('/api/v1/cost', selectionOf(place, asOf), { enabled: place.measure === 'money' }).data;
}

/** The mean price of a core-hour; null: unknown, or money is not the unit. */
export function usePrice(place: Shown): number | null {
  return useCost(place)?.price_per_core_hour ?? null;
}

/** Prices by platform, for rows that are platforms. */
export function platformPrices(cost: ReturnType<typeof useCost>): ReadonlyMap<string, number | null> {
  return new Map(cost?.rows.map((row) => [row.platform, row.price_per_core_hour]));
}
