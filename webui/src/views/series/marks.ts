/** Marks on the time axis and the places of their texts. */

export interface Mark {
  /** Unique in the chart. */
  id: string;
  /** Seconds since 1970. */
  at: number;
  /** Short: `r10389`. */
  text: string;
  /** What happened, in a sentence. */
  title: string;
}

export interface PlacedMark extends Mark {
  /** Pixels from the left of the plot. */
  left: number;
  /** Row of the text, from 0; null: there is no room for it. */
  row: number | null;
}

const PX_PER_CHARACTER = 7;
const PADDING = 12;

/** Places texts in rows without overlap: the earlier marks first. `rows`: how many there are. */
export function placeMarks(
  marks: readonly Mark[],
  leftOf: (at: number) => number,
  width: number,
  rows: number,
): PlacedMark[] {
  const ends = new Array<number>(rows).fill(Number.NEGATIVE_INFINITY);
  return [...marks]
    .sort((a, b) => a.at - b.at)
    .flatMap((mark): PlacedMark[] => {
      const left = leftOf(mark.at);
      if (!(left >= 0 && left <= width)) return [];
      const end = left + mark.text.length * PX_PER_CHARACTER + PADDING;
      const row = end > width + PADDING ? -1 : ends.findIndex((taken) => taken <= left);
      if (row < 0) return [{ ...mark, left, row: null }];
      ends[row] = end;
      return [{ ...mark, left, row }];
    });
}
