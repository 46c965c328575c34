/** The parts of a source line by their syntax, as classes: the colours are in source.css. */
import type { components } from '../../api/schema.gen.ts';

export type Highlighting = components['schemas']['HighlightingAnswer'];

export interface Part {
  text: string;
  /** Empty: no colour. */
  kind: string;
}

/** `number`: of the line, from 1. A line without known syntax is one part. */
export function partsOf(text: string, number: number, highlighting: Highlighting | undefined): Part[] {
  const known = highlighting?.lines[number - 1] ?? [];
  const parts: Part[] = [];
  let at = 0;
  for (let k = 0; k + 1 < known.length; k += 2) {
    const part = text.slice(at, at + known[k]);
    if (part !== '') parts.push({ text: part, kind: highlighting!.classes[known[k + 1]] ?? '' });
    at += known[k];
  }
  if (at < text.length) parts.push({ text: text.slice(at), kind: '' });
  return parts;
}
