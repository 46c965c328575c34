/** A state as a coloured mark and a word. */
import type { Tone } from './words.ts';
import './fleet.css';

interface Props {
  word: { text: string; tone: Tone; title: string };
  /** Replaces the meaning of the word. */
  title?: string;
}

export function Marked({ word, title }: Props) {
  return (
    <span className={`marked ${word.tone}`} title={title ?? word.title}>
      <span className="dot" aria-hidden="true" />
      {word.text}
    </span>
  );
}
