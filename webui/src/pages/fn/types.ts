/** What the panels of the page share. */
import type { components } from '../../api/schema.gen.ts';
import type { PlaceOf, FUNCTION } from '../../app/pages.ts';
import type { Go } from '../../app/usePlace.ts';

export type FunctionAnswer = components['schemas']['FunctionAnswer'];
export type FunctionPlace = PlaceOf<typeof FUNCTION>;

export interface Shown {
  place: FunctionPlace;
  go: Go<FunctionPlace>;
}

export interface PanelProps extends Shown {
  /** The panel's question may be asked: the function has samples in the range. */
  enabled: boolean;
}
