/** The place of an answer: a placeholder, the answer, or why there is none. The rest of the page stays usable. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import type { GoShown, Shown } from '../../app/Page.tsx';
import { presetOf } from '../../selection/time.ts';
import { Failure } from './Failure.tsx';

/** The part of a query's result that is read here. */
export interface Query<T> {
  data: T | undefined;
  error: Error | null;
  isFetching: boolean;
  isPlaceholderData: boolean;
  refetch: () => unknown;
}

interface Props<T> {
  query: Query<T>;
  /** In the shape of the answer. */
  skeleton: ReactNode;
  /** What is loaded: `the call tree`. */
  what: string;
  /** The selection, which a failure may suggest to change; missing: the answer has none. */
  shown?: { place: Shown; go: GoShown };
  children: (answer: T) => ReactNode;
}

export function Answered<T>({ query, skeleton, what, shown, children }: Props<T>) {
  const { data, error, isFetching, isPlaceholderData, refetch } = query;
  const retry = (): void => void refetch();
  if (data === undefined) {
    if (error) return <Failure error={error} retry={retry} {...shown} />;
    if (!isFetching) return <Cancelled what={what} retry={retry} />;
    return (
      <Loading what={what} {...shown}>
        {skeleton}
      </Loading>
    );
  }
  return (
    <>
      {error && (
        <p className="stale" role="status">
          Could not refresh: {error.message} The page shows older data.{' '}
          <button type="button" onClick={retry}>
            Try again
          </button>
        </p>
      )}
      {isPlaceholderData && isFetching && <StillPrevious what={what} />}
      {children(data)}
    </>
  );
}

/** Seconds since the component appeared. */
function useElapsed(): number {
  const [elapsed, setElapsed] = useState(0);
  useEffect(() => {
    const began = performance.now();
    const timer = setInterval(() => setElapsed(Math.floor((performance.now() - began) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  return elapsed;
}

/** Seconds before a wait is explained. */
const PATIENCE_S = 3;

interface LoadingProps {
  what: string;
  place?: Shown;
  go?: GoShown;
  children: ReactNode;
}

function Loading({ what, place, go, children }: LoadingProps) {
  const elapsed = useElapsed();
  const cancel = useCancel();
  return (
    <div className="loading">
      {children}
      {elapsed >= PATIENCE_S && (
        <div className="waiting" role="status">
          <span>
            Loading {what} … <span aria-hidden="true">{elapsed} s</span>
          </span>
          <button type="button" onClick={cancel}>
            Cancel
          </button>
          {place && go && presetOf(place) !== '24h' && (
            <button
              type="button"
              onClick={() => {
                cancel();
                go({ from: 'now-24h', to: 'now' });
              }}
            >
              Show the last 24 h (faster)
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** Cancels the page's requests about ranges; the server stops the queries of a client that disconnects. */
function useCancel(): () => void {
  const client = useQueryClient();
  return () => void client.cancelQueries({ predicate: (query) => query.meta?.['ranged'] === true });
}

function Cancelled({ what, retry }: { what: string; retry: () => void }) {
  return (
    <div className="state" role="status">
      <p className="sentence">Loading {what} was cancelled.</p>
      <button type="button" className="primary" onClick={retry}>
        Load it
      </button>
    </div>
  );
}

function StillPrevious({ what }: { what: string }) {
  const elapsed = useElapsed();
  const cancel = useCancel();
  if (elapsed < 1) return null;
  return (
    <div className="waiting" role="status">
      <span>
        Loading {what} … <span aria-hidden="true">{elapsed} s</span>. The page shows the previous selection.
      </span>
      {elapsed >= PATIENCE_S && (
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      )}
    </div>
  );
}
