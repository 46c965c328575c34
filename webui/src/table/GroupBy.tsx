/** Chooses the meaning of a row. The labels are requested when the list is first opened. */
import { useState } from 'react';
import { useAnswer } from '../api/useAnswer.ts';
import { useAsOf } from '../app/asOf.tsx';
import type { Shown } from '../app/Page.tsx';
import { selectionOf } from '../selection/selection.ts';

interface Props {
  /** The label before the choice. */
  title: string;
  place: Shown & { by: string };
  go: (change: { by: string; find: string }) => void;
}

export function GroupBy({ title, place, go }: Props) {
  const { asOf } = useAsOf();
  const [opened, setOpened] = useState(false);
  const labels = useAnswer('/api/v1/labels', selectionOf(place, asOf), { enabled: opened });
  const names = [
    'function',
    'file',
    'binary',
    ...(labels.data?.labels.filter((l) => l.values.length > 0).map((l) => l.name) ?? []),
  ];
  if (!names.includes(place.by)) names.push(place.by);
  return (
    <label className="field inline">
      {title}
      <select
        value={place.by}
        onFocus={() => setOpened(true)}
        onPointerDown={() => setOpened(true)}
        onChange={(e) => go({ by: e.target.value, find: '' })}
      >
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
