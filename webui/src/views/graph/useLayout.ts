/** The layout of a graph, from a worker of its own: a newer graph ends the layout of the one before. */
import { useEffect, useState } from 'react';
import type { Layout } from './layout.ts';
import type { Wanted } from './layoutWorker.ts';

export type Laid = { wanted: Wanted; layout: Layout } | { wanted: Wanted; error: string } | null;

/** null while the layout is under way. `wanted` must be memoized. */
export function useLayout(wanted: Wanted): Laid {
  const [laid, setLaid] = useState<Laid>(null);
  useEffect(() => {
    const worker = new Worker(new URL('./layoutWorker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }: MessageEvent<{ layout: Layout } | { error: string }>) => {
      setLaid({ wanted, ...data });
      worker.terminate();
    };
    worker.onerror = () => setLaid({ wanted, error: 'The layout could not be loaded.' });
    worker.postMessage(wanted);
    return () => worker.terminate();
  }, [wanted]);
  return laid?.wanted === wanted ? laid : null;
}
