/** Saves the page's address with a name, for all readers (an entry of the Export menu). */
import { useQueryClient } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import type { SavedView } from '../api/types.ts';
import { useReasonAgainst } from '../api/useSession.ts';
import { useState, type FormEvent } from 'react';
import { useToast } from './Toast.tsx';

export function SaveView({ close }: { close: () => void }) {
  const reason = useReasonAgainst('operator');
  const client = useQueryClient();
  const say = useToast();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const save = (event: FormEvent): void => {
    event.preventDefault();
    const path = location.pathname + location.search;
    const saved = answerOf<SavedView>(api.POST('/api/v1/views', { body: { name: name.trim(), path } }));
    saved.then(
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
    <form className="save-view" onSubmit={save}>
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
