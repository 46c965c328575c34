import type { LabelsAnswer } from '../api/types.ts';
import type { Go } from '../location/usePlace.ts';
import type { Place } from '../selection/place.ts';

interface Props {
  /** The label before the choice. */
  title: string;
  place: Place;
  go: Go;
  labels: LabelsAnswer | undefined;
}

/** Chooses the meaning of a row. */
export function GroupBy({ title, place, go, labels }: Props) {
  const names = [
    'function',
    'file',
    'binary',
    ...(labels?.labels.filter((l) => l.values.length > 0).map((l) => l.name) ?? []),
  ];
  if (!names.includes(place.by)) names.push(place.by);
  return (
    <label className="field inline">
      {title}
      <select value={place.by} onChange={(e) => go({ by: e.target.value, find: '' })}>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
