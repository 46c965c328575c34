/** What the rows are: one or several keys, as chips in their order. Labels are requested when the list is opened. */
import { useAnswer } from '../api/useAnswer.ts';
import { useAsOf } from '../app/asOf.tsx';
import type { Shown } from '../app/Page.tsx';
import { selectionOf } from '../selection/selection.ts';
import { Popover } from '../ui/Popover.tsx';
import './row-keys.css';
import { keysOf, MOST_KEYS, moved, withKey, withoutKey } from './keys.ts';

interface Props {
  /** The label before the choice. */
  title: string;
  place: Shown & { by: string };
  go: (change: { by: string; find: string }) => void;
}

export function GroupKeys({ title, place, go }: Props) {
  const keys = keysOf(place.by);
  const set = (by: string): void => go({ by, find: '' });
  return (
    <span className="row-keys" role="group" aria-label={title.toLowerCase()}>
      <span className="keys-title">{title}</span>
      {keys.map((key, at) => (
        <span key={key} className="chip key">
          <Popover
            label={`key ${key}`}
            button={
              <>
                <span className="sr-only">key </span>
                {key}
              </>
            }
            title="replace this key, or move it"
            buttonClass="key-name"
          >
            {(close) => (
              <KeyList
                place={place}
                taken={keys}
                choose={(name) => {
                  set(withKey(place.by, name, at));
                  close();
                }}
              >
                {keys.length > 1 && (
                  <span className="segments">
                    <button type="button" disabled={at === 0} onClick={() => set(moved(place.by, at, -1))}>
                      ← Move left
                    </button>
                    <button
                      type="button"
                      disabled={at === keys.length - 1}
                      onClick={() => set(moved(place.by, at, 1))}
                    >
                      Move right →
                    </button>
                  </span>
                )}
              </KeyList>
            )}
          </Popover>
          {keys.length > 1 && (
            <button
              type="button"
              aria-label={`remove the key ${key}`}
              title="remove this key"
              onClick={() => set(withoutKey(place.by, at))}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {keys.length < MOST_KEYS && (
        <Popover
          label="add a key"
          button={
            <>
              + <span className="sr-only">add a key</span>
            </>
          }
          buttonClass="chip add"
          title="add a key: one row for each combination"
        >
          {(close) => (
            <KeyList
              place={place}
              taken={keys}
              choose={(name) => {
                set(withKey(place.by, name));
                close();
              }}
            />
          )}
        </Popover>
      )}
    </span>
  );
}

const FRAME_KEYS = ['function', 'file', 'line', 'binary'];

interface ListProps {
  place: Shown;
  taken: readonly string[];
  choose: (name: string) => void;
  children?: React.ReactNode;
}

function KeyList({ place, taken, choose, children }: ListProps) {
  const { asOf } = useAsOf();
  const labels = useAnswer('/api/v1/labels', selectionOf(place, asOf));
  const names = labels.data?.labels.filter((l) => l.values.length > 0).map((l) => l.name) ?? [];
  const item = (name: string) => (
    <button key={name} type="button" disabled={taken.includes(name)} onClick={() => choose(name)}>
      {name}
    </button>
  );
  return (
    <div className="menu-links key-list">
      <span className="menu-title">Frames</span>
      {FRAME_KEYS.map(item)}
      <span className="menu-title">Labels</span>
      {labels.isPending ? (
        <span className="note">Loading the labels …</span>
      ) : labels.error ? (
        <span className="note">{labels.error.message}</span>
      ) : (
        names.map(item)
      )}
      {children}
    </div>
  );
}
