/** Search over pages, functions, files, binaries, applications and machines: Ctrl K. */
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { navigate, useSearch } from 'wouter/use-browser-location';
import { useAnswer } from '../api/useAnswer.ts';
import { parseParams } from '../selection/params.ts';
import { selectionOf } from '../selection/selection.ts';
import { useAsOf } from './asOf.tsx';
import { EXPLORE } from './pages.ts';
import { hitOptions, pageOptions, type Option } from './paletteOptions.ts';
import './palette.css';

/** A request is sent after this pause in typing. */
const PAUSE_MS = 150;
/** Names of each kind. */
const EACH = 6;

/** The text of the last search: opening the search again does not lose it. */
let remembered = '';

export function CommandPalette({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const search = useSearch();
  const { asOf } = useAsOf();
  const [typed, setTyped] = useState(remembered);
  const [at, setAt] = useState(0);
  const q = usePaused(typed.trim());
  // Any page's selection: parameters of other pages are left out.
  const shown = useMemo(() => parseParams(EXPLORE.params, search), [search]);
  const found = useAnswer(
    '/api/v1/search',
    { ...selectionOf(shown, asOf), q, limit: EACH },
    { enabled: q !== '' },
  );

  const hits = typed.trim() === '' ? [] : hitOptions(found.data?.hits ?? [], typed, shown);
  const pages = pageOptions(typed, shown);
  // With a text, names come first: it is seldom that of a page.
  const options = [...hits, ...pages];
  const current = Math.min(at, options.length - 1);
  const waiting = typed.trim() !== '' && (q !== typed.trim() || found.isFetching);

  useEffect(() => {
    dialog.current!.showModal();
    field.current!.select();
  }, []);
  useEffect(() => {
    document.getElementById(`palette-${current}`)?.scrollIntoView({ block: 'nearest' });
  }, [current]);

  const open = (option: Option, aside: boolean): void => {
    if (aside) window.open(option.href, '_blank', 'noopener');
    else {
      dialog.current!.close();
      navigate(option.href);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt((current + 1) % Math.max(1, options.length));
    else if (event.key === 'ArrowUp') setAt((current - 1 + options.length) % Math.max(1, options.length));
    else if (event.key === 'Enter' && options[current])
      open(options[current], event.ctrlKey || event.metaKey);
    else if (event.key === 'Escape')
      dialog.current!.close(); // the browser would clear the field first
    else return;
    event.preventDefault();
  };

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="search everything"
      onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <input
        ref={field}
        type="search"
        role="combobox"
        aria-label="search functions, files, binaries, applications, machines and pages"
        aria-expanded={options.length > 0}
        aria-controls="palette-options"
        aria-activedescendant={options[current] ? `palette-${current}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        placeholder="Function, file, binary, application, machine, page"
        value={typed}
        onChange={(event) => {
          remembered = event.target.value;
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id="palette-options" role="listbox" aria-label="results" aria-busy={waiting} tabIndex={-1}>
        {groupsOf(options).map(({ name, first, members }) => (
          <div key={name} role="group" aria-labelledby={`palette-group-${first}`}>
            <div id={`palette-group-${first}`} className="group" role="presentation">
              {name}
            </div>
            {members.map((option, k) => (
              <div
                key={`${option.href} ${option.text}`}
                id={`palette-${first + k}`}
                role="option"
                aria-selected={first + k === current}
                className="option"
                onMouseMove={() => setAt(first + k)}
                onClick={(event) => open(option, event.ctrlKey || event.metaKey)}
              >
                <span className={name === 'Pages' || name === 'Applications' ? 'text' : 'text code'}>
                  {option.text}
                </span>
                <span className="aside">{option.aside}</span>
                <span className="share">{option.share}</span>
              </div>
            ))}
          </div>
        ))}
      </div>
      <p className="note" role="status">
        {found.error && q !== ''
          ? found.error.message
          : waiting
            ? 'Searching …'
            : options.length === 0
              ? `No name contains “${typed.trim()}”.`
              : typed.trim() === ''
                ? 'Type a part of a name.'
                : 'Shares are those of the selection, estimated from some of its profiles.'}
      </p>
      <p className="keys-line note" aria-hidden="true">
        <kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close
      </p>
    </dialog>
  );
}

/** The value after a pause without changes; an empty one at once. */
function usePaused(value: string): string {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), value === '' ? 0 : PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}

interface Group {
  name: string;
  /** Place of its first option among all. */
  first: number;
  members: Option[];
}

function groupsOf(options: readonly Option[]): Group[] {
  const groups: Group[] = [];
  options.forEach((option, k) => {
    const last = groups.at(-1);
    if (last?.name === option.group) last.members.push(option);
    else groups.push({ name: option.group, first: k, members: [option] });
  });
  return groups;
}
