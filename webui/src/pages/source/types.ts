import type { PlaceOf, SOURCE } from '../../app/pages.ts';
import type { Go } from '../../app/usePlace.ts';

export interface SourceProps {
  /** Name of the binary. */
  binary: string;
  place: PlaceOf<typeof SOURCE>;
  go: Go<PlaceOf<typeof SOURCE>>;
}
