/** Uploads the files dropped on the page, one after the other. */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useReducer, useRef } from 'react';
import type { UploadAnswer } from '../../api/types.ts';
import { upload } from './upload.ts';

export interface Upload {
  id: number;
  file: File;
  sent: number;
  state: 'waiting' | 'sending' | 'done' | 'failed';
  answer: UploadAnswer | null;
  /** Reason of the failure: the server's sentence and hint. */
  why: string;
}

type Change = { add: Upload[] } | { id: number; change: Partial<Upload> } | 'clear';

function reduce(uploads: readonly Upload[], change: Change): readonly Upload[] {
  if (change === 'clear') return uploads.filter((u) => u.state === 'waiting' || u.state === 'sending');
  if ('add' in change) return [...uploads, ...change.add];
  return uploads.map((u) => (u.id === change.id ? { ...u, ...change.change } : u));
}

export function useUploads() {
  const [uploads, dispatch] = useReducer(reduce, []);
  const client = useQueryClient();
  const ids = useRef(0);
  const started = useRef(0);
  const gone = useRef(new AbortController());
  useEffect(() => {
    gone.current = new AbortController();
    return () => gone.current.abort();
  }, []);

  const busy = uploads.some((u) => u.state === 'sending');
  const next = busy ? undefined : uploads.find((u) => u.state === 'waiting');
  useEffect(() => {
    if (next === undefined || next.id <= started.current) return;
    started.current = next.id; // once, however often the effect runs
    const { id, file } = next;
    dispatch({ id, change: { state: 'sending' } });
    const end = (change: Partial<Upload>): void => {
      dispatch({ id, change });
      void client.invalidateQueries();
    };
    upload(file, (sent) => dispatch({ id, change: { sent } }), gone.current.signal).then(
      (answer) => end({ state: 'done', sent: file.size, answer }),
      (error: Error & { hint?: string }) =>
        end({ state: 'failed', why: `${error.message} ${error.hint ?? ''}`.trim() }),
    );
  }, [next, client]);

  const add = useCallback((files: Iterable<File>) => {
    const fresh = Array.from(files, (file): Upload => {
      ids.current += 1;
      return { id: ids.current, file, sent: 0, state: 'waiting', answer: null, why: '' };
    });
    dispatch({ add: fresh });
  }, []);
  const clear = useCallback(() => dispatch('clear'), []);
  return { uploads, add, clear };
}
