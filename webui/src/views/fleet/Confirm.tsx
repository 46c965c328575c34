/** A dialog that asks before an action; Esc closes it. */
import { useEffect, useId, useRef, type FormEvent, type ReactNode } from 'react';
import './fleet.css';

interface Props {
  title: string;
  /** Text of the button that acts. */
  action: string;
  busy?: boolean;
  children?: ReactNode;
  close: () => void;
  run: () => void;
}

export function Confirm({ title, action, busy = false, children, close, run }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    run();
  };
  return (
    <dialog ref={dialog} className="confirm" aria-labelledby={id} onClose={close}>
      <form className="stack" onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        {children}
        <p className="form-actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={busy}>
            {action}
          </button>
        </p>
      </form>
    </dialog>
  );
}
