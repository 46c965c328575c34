import { useEffect, useRef } from 'react';

const KEYS: [string[], string][] = [
  [['/'], 'find a function, in the table and in the flame graph'],
  [['n', 'N'], 'next, previous match'],
  [['f'], 'add a filter'],
  [['v'], 'the next view'],
  [['u'], 'the next measure: share, core-seconds, cores, …'],
  [['y'], 'copy a link to this page with fixed times'],
  [['t'], 'dark or light'],
  [['i'], 'root of the flame graph at the top or at the bottom'],
  [['?'], 'this list'],
];
const TABLE: [string[], string][] = [
  [['↑', '↓', 'j', 'k'], 'move'],
  [['Enter'], 'show the row in the flame graph, or filter by it'],
  [['.'], 'more actions for the row'],
];
const FLAME: [string[], string][] = [
  [['↑', '↓'], 'to the caller, to the heaviest callee'],
  [['←', '→'], 'to the heavier, to the lighter sibling'],
  [['Enter'], 'zoom to the frame'],
  [['Backspace'], 'zoom out to the caller'],
  [['Esc'], 'clear the highlight; without one, all stacks'],
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
            <Keys title="Everywhere" keys={KEYS} />
            <div>
              <Keys title="In the table" keys={TABLE} />
              <Keys title="In the flame graph" keys={FLAME} />
            </div>
          </div>
          <dl className="words">
            <dt>self</dt>
            <dd>CPU time in the function’s own code</dd>
            <dt>total</dt>
            <dd>self and all callees; a recursive function counts once per stack</dd>
            <dt>interval</dt>
            <dd>
              the 95 % interval of an estimate for the whole fleet: in 19 of 20 samplings like this one it
              contains the true value. Its width depends on how much visits differ, not on the number of
              samples
            </dd>
            <dt>few visits decide</dt>
            <dd>low confidence: one or two visits contribute most of the row, so its interval was widened</dd>
            <dt>significant</dt>
            <dd>
              a difference larger than the random variation between visits; about 1 in 20 of the rows marked
              significant is a false positive
            </dd>
            <dt>symbolized</dt>
            <dd>share of samples in which every frame has a function name</dd>
            <dt>complete</dt>
            <dd>share of samples whose stack was unwound to the thread’s start</dd>
          </dl>
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

function Keys({ title, keys }: { title: string; keys: [string[], string][] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl className="keys">
        {keys.map(([names, does]) => (
          <div key={does}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
