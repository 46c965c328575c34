/** The keys that work on this page, and the words that it uses. */
import { useEffect, useRef } from 'react';
import { activeKeys } from './useKeys.ts';

const WORDS: readonly [string, string][] = [
  ['self', 'CPU time in the function’s own code'],
  ['total', 'self and all callees; a recursive function counts once per stack'],
  ['profile', 'what one visit of a machine collects: a few seconds of everything that runs there'],
  [
    'interval',
    'the 95 % interval of an estimate for the whole fleet: in 19 of 20 samplings like this one it contains the ' +
      'true value. Its width depends on how much profiles differ, not on the number of samples',
  ],
  [
    'few machines',
    'low confidence: one or two profiles contribute most of the row, so its interval is wider',
  ],
  [
    'significant',
    'a difference larger than the random variation between profiles; about 1 in 20 of the rows marked ' +
      'significant is a false positive',
  ],
  ['symbolized', 'share of samples in which every frame has a function name'],
  ['complete', 'share of samples whose stack was unwound to the thread’s start'],
  ['machines (equivalent)', 'how many fully used machines would do only this'],
];

export function Help({ open, close }: { open: boolean; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="help-title">
      {open && (
        <>
          <h2 id="help-title">Keys and words</h2>
          <div className="columns">
            {activeKeys().map(({ title, keys }) => (
              <section key={title}>
                <h3>{title}</h3>
                <dl className="keys">
                  {keys.map(([name, does]) => (
                    <div key={name}>
                      <dt>
                        {caps(name).map((cap) => (
                          <kbd key={cap}>{cap}</kbd>
                        ))}
                      </dt>
                      <dd>{does}</dd>
                    </div>
                  ))}
                </dl>
              </section>
            ))}
          </div>
          <dl className="words">
            {WORDS.map(([word, meaning]) => (
              <div key={word}>
                <dt>{word}</dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
          <p className="note">
            Documentation is in the folder <code>docs</code> of the sources: <code>docs/numbers.md</code> says
            what a number means, <code>docs/selections.md</code> how to write filters,{' '}
            <code>docs/export.md</code> which formats exist, <code>docs/glossary.md</code> all words.
          </p>
          <form method="dialog">
            <button type="submit" className="primary">
              Close
            </button>
          </form>
        </>
      )}
    </dialog>
  );
}

/** The caps of a key's name: `g h` → `g`, `h`; `mod+k` → `Ctrl`, `k`. */
function caps(name: string): string[] {
  const mac = /Mac|iPhone|iPad/.test(navigator.userAgent);
  return name.split(/[ +]/).map((part) => (part === 'mod' ? (mac ? '⌘' : 'Ctrl') : part));
}
