/** The text of a name in a column of this width, both in pixels. */
import { shorten } from '../flame/names.ts';

export function fitted(name: string, width: number, characterWidth: number): string {
  return shorten(name, Math.floor(width / characterWidth + 0.01));
}
