/** The events of a campaign's form: any number, each with its window, its rate and its turn. */
import { useId } from 'react';
import { renamed, type Draft, type EventDraft, type EventField, type Mistakes } from './draft.ts';

const FIELDS: readonly { field: EventField; text: string; note: string }[] = [
  { field: 'event', text: 'Event', note: 'For example cpu, page-faults.' },
  { field: 'duration_s', text: 'Seconds per profile', note: '' },
  {
    field: 'rate_hz',
    text: 'Samples per second and CPU',
    note: 'Of events that count time; 0: the period applies.',
  },
  { field: 'period', text: 'Events between two samples', note: 'Of other events; 0: the gateway’s default.' },
  { field: 'turn', text: 'Turn', note: 'Events of one turn are sampled together.' },
];
/** The server's limit. */
const MOST = 32;

interface Props {
  draft: Draft;
  /** What an added event begins as. */
  first: EventDraft;
  /** Events that count time. */
  timed: readonly string[];
  mistakes: Mistakes;
  onChange: (events: readonly EventDraft[]) => void;
}

export function EventFields({ draft: { events }, first, timed, mistakes, onChange }: Props) {
  const id = useId();
  const set = (k: number, event: EventDraft): void =>
    onChange(events.map((old, at) => (at === k ? event : old)));
  return (
    <>
      {events.map((event, k) => (
        <fieldset key={k} className="event-fields">
          <legend>
            {events.length === 1 ? 'Event' : `Event ${k + 1}`}
            {events.length > 1 && (
              <button
                type="button"
                onClick={() => onChange(events.filter((_, at) => at !== k))}
                aria-label={`remove event ${k + 1}`}
              >
                Remove
              </button>
            )}
          </legend>
          <div className="form-grid">
            {FIELDS.map(({ field, text, note }) => {
              const mistake = mistakes[`events.${k}.${field}`] ?? '';
              return (
                <label key={field} className="field">
                  {text}
                  <input
                    inputMode={field === 'event' ? 'text' : 'decimal'}
                    value={event[field]}
                    spellCheck={false}
                    aria-invalid={mistake !== ''}
                    aria-describedby={`${id}-${k}-${field}`}
                    onChange={({ target: { value } }) =>
                      set(
                        k,
                        field === 'event'
                          ? renamed(event, value, timed, first.rate_hz)
                          : { ...event, [field]: value },
                      )
                    }
                  />
                  <span
                    id={`${id}-${k}-${field}`}
                    className={mistake ? 'bad' : 'note'}
                    role={mistake ? 'alert' : undefined}
                  >
                    {mistake || note}
                  </span>
                </label>
              );
            })}
            <label className="field inline">
              <input
                type="checkbox"
                checked={event.stacks}
                onChange={({ target }) => set(k, { ...event, stacks: target.checked })}
              />
              whole stacks
            </label>
          </div>
        </fieldset>
      ))}
      {events.length < MOST && (
        <p>
          <button type="button" onClick={() => onChange([...events, first])}>
            Add an event
          </button>
        </p>
      )}
    </>
  );
}
