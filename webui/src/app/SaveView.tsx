/** Saves the page's address for all readers, with a name or as a short link (entries of the Export menu). */
import { useQueryClient } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import type { SavedView } from '../api/types.ts';
import { useReasonAgainst } from '../api/useSession.ts';
import { useState, type FormEvent } from 'react';
import { copy } from '../ui/copy.ts';
import { useToast } from './Toast.tsx';

/** Stores the page's address; without a name as a short link only. */
function save(name: string | null): Promise<SavedView> {
  const path = location.pathname + location.search;
  return answerOf<SavedView>(api.POST('/api/v1/views', { body: { name, path } }));
}

export function SaveView({ close }: { close: () => void }) {
  const reason = useReasonAgainst('operator');
  const client = useQueryClient();
  const say = useToast();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save(name.trim()).then(
      ({ short }) => {
        say(`View saved. Its link: ${location.origin}${short}`);
        void client.invalidateQueries({ queryKey: ['/api/v1/views'] });
        close();
      },
      (error: Error) => say(error.message),
    );
  };
  if (!isOpen) {
    return (
      <button type="button" disabled={reason !== ''} title={reason} onClick={() => setOpen(true)}>
        Save view …
      </button>
    );
  }
  return (
    <form className="save-view" onSubmit={submit}>
      <input
        autoFocus
        required
        maxLength={100}
        placeholder="Name of the view"
        aria-label="name of the view"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" className="primary">
        Save
      </button>
    </form>
  );
}

/** Copies a short link to the page's address. */
export function ShortLink({ close }: { close: () => void }) {
  const reason = useReasonAgainst('operator');
  const say = useToast();
  const make = async (): Promise<void> => {
    const { short } = await save(null);
    const link = location.origin + short;
    say((await copy(link)) ? `Short link copied: ${link}` : `Copy this link: ${link}`);
  };
  return (
    <button
      type="button"
      disabled={reason !== ''}
      title={reason}
      onClick={() => {
        close();
        make().catch((error: Error) => say(error.message));
      }}
    >
      Copy short link
    </button>
  );
}
