/** A command to run in a terminal, with a button that copies it. */
import { useState } from 'react';
import { copy } from './copy.ts';

export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <span className="command">
      <code>{text}</code>
      <button
        type="button"
        onClick={() => void copy(text).then(setCopied)}
        aria-label={`copy the command ${text}`}
      >
        {copied ? 'Copied' : 'Copy'}
      </button>
    </span>
  );
}
