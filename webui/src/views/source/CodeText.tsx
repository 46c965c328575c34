/** The text of one line in its colours. */
import { partsOf, type Highlighting } from './parts.ts';
import './code-text.css';

interface Props {
  text: string;
  /** Of the line, from 1. */
  number: number;
  highlighting: Highlighting | undefined;
}

export function CodeText({ text, number, highlighting }: Props) {
  return partsOf(text, number, highlighting).map(({ text: part, kind }, k) =>
    kind === '' ? (
      part
    ) : (
      <span key={k} className={`syntax-${kind}`}>
        {part}
      </span>
    ),
  );
}
