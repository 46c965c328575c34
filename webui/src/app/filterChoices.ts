/** The values that the filter picker offers: those that contain the typed text, the heaviest of each label first. */
import type { LabelAnswer } from '../api/types.ts';

export interface Choice {
  label: string;
  value: string;
  share: number;
}

/** `each`: the largest number of values of one label. */
export function choicesOf(labels: readonly LabelAnswer[], typed: string, each: number): Choice[] {
  const wanted = typed.toLowerCase();
  return labels.flatMap(({ name, values }) =>
    values
      .filter(({ value }) => value.toLowerCase().includes(wanted))
      .slice(0, each)
      .map(({ value, share }) => ({ label: name, value, share })),
  );
}
