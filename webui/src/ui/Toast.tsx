import { useEffect } from 'react';

/** Shows a message for a short time. */
export function Toast({ text, clear }: { text: string; clear: () => void }) {
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(clear, text.length > 60 ? 15_000 : 3_000);
    return () => clearTimeout(timer);
  }, [text, clear]);
  return (
    <div className={text === '' ? 'toast' : 'toast on'} role="status">
      {text}
    </div>
  );
}
