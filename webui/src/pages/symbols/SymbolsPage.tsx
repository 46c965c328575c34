/** The symbols page: missing symbols by affected samples, uploads, and progress of reprocessing. */
import { ApiProblem } from '../../api/problem.ts';
import { Page } from '../../app/Page.tsx';
import { SYMBOLS } from '../../app/pages.ts';
import { useToast } from '../../app/Toast.tsx';
import { usePlace } from '../../app/usePlace.ts';
import type { SymbolsAnswer } from '../../api/types.ts';
import { spoken } from '../../estimates/words.ts';
import { plural } from '../../selection/numbers.ts';
import { Segments } from '../../ui/Segments.tsx';
import { TableSkeleton } from '../../ui/states/Skeleton.tsx';
import { NARROW, useMedia } from '../../ui/useMedia.ts';
import { BinaryDetails } from './BinaryDetails.tsx';
import { BinaryTable } from './BinaryTable.tsx';
import { PAGE, PHONE_PAGE, useSymbols } from './queries.ts';
import { UploadPanel } from './UploadPanel.tsx';
import { shortKey } from './words.ts';

const SHOW = [
  { value: 'missing', text: 'Missing', title: 'binaries with unnamed functions in samples' },
  { value: 'all', text: 'All', title: 'every binary that ran' },
] as const;
/** The API's maximum of rows in one response. */
const MOST_ROWS = 1000;

export function SymbolsPage() {
  const [place, goHow] = usePlace(SYMBOLS);
  // Back leads to the page from which this one was opened, not through each typed letter.
  const go = (change: Partial<typeof place>): void => goHow(change, 'replace');
  const say = useToast();
  const narrow = useMedia(NARROW);
  const rows = place.rows || (narrow ? PHONE_PAGE : PAGE);
  const symbols = useSymbols(place, rows);
  const { data, error } = symbols;
  const elsewhere =
    data && place.binary !== '' && !symbols.isPlaceholderData
      ? !data.binaries.some((b) => b.key === place.binary)
      : false;

  return (
    <Page title="Symbols" className="symbols" busy={symbols.isFetching}>
      <h1>Symbols</h1>
      {data && (
        <Summary
          answer={data}
          missing={place.show === 'missing' && place.find === '' && place.sort === 'cpu'}
        />
      )}
      {error && data && (
        <p className="stale" role="status">
          Could not refresh: {error.message} The page shows older data.{' '}
          <button type="button" onClick={() => void symbols.refetch()}>
            Try again
          </button>
        </p>
      )}
      <UploadPanel
        terms={data?.upload}
        say={say}
        show={(key) => go({ show: 'all', find: key, binary: key })}
      />
      <section className="panel" aria-label="binaries">
        <div className="bar-top">
          <Segments label="show" value={place.show} options={SHOW} onChange={(show) => go({ show })} />
          <input
            type="search"
            value={place.find}
            onChange={(event) => go({ find: event.target.value })}
            placeholder="Name, path or build-id"
            aria-label="find a binary"
            maxLength={200}
          />
          <span className="note">{data && plural(data.total, 'binary', 'binaries')}</span>
        </div>
        {elsewhere && (
          <div className="alone">
            <h2 className="code">{shortKey(place.binary)}</h2>
            <BinaryDetails binaryKey={place.binary} allowed={data!.upload.allowed} say={say} />
            <button type="button" onClick={() => go({ binary: '' })}>
              Close
            </button>
          </div>
        )}
        {data === undefined ? (
          error ? (
            <div className="state" role="alert">
              <p className="sentence">{error.message}</p>
              {error instanceof ApiProblem && error.hint !== '' && <p>{error.hint}</p>}
              <button type="button" className="primary" onClick={() => void symbols.refetch()}>
                Try again
              </button>
            </div>
          ) : (
            <TableSkeleton />
          )
        ) : data.binaries.length === 0 ? (
          <Nothing
            find={place.find}
            missing={place.show === 'missing'}
            clear={() => go({ find: '', show: 'all' })}
          />
        ) : (
          <div className="scrolls" tabIndex={0} role="region" aria-label="table of binaries">
            <BinaryTable answer={data} place={place} go={go} say={say} />
          </div>
        )}
        {data && data.total > data.binaries.length && (
          <p className="bar-bottom note">
            {data.binaries.length} of {data.total} shown.{' '}
            {rows < MOST_ROWS ? (
              <button type="button" className="link" onClick={() => go({ rows: MOST_ROWS })}>
                Show more
              </button>
            ) : (
              'Search by name to see others.'
            )}
          </p>
        )}
      </section>
    </Page>
  );
}

/** The most useful next step. */
function Summary({ answer, missing }: { answer: SymbolsAnswer; missing: boolean }) {
  const [first] = answer.binaries;
  if (!missing || first === undefined || first.unresolved === 0) return null;
  return (
    <p className="headline">
      <span className="claim">
        <b>{plural(answer.total, 'binary', 'binaries')}</b> {answer.total === 1 ? 'has' : 'have'} CPU time in
        functions without names
      </span>
      {first.share && (
        <span>
          most of it <span className="code">{first.name}</span>: {spoken('share', first.share)}
        </span>
      )}
    </p>
  );
}

interface NothingProps {
  find: string;
  missing: boolean;
  clear: () => void;
}

function Nothing({ find, missing, clear }: NothingProps) {
  if (find === '') {
    return (
      <div className="state" role="status">
        <p className="sentence">
          {missing ? 'Every function that was sampled in the last day has a name.' : 'No binary has run yet.'}
        </p>
      </div>
    );
  }
  return (
    <div className="state" role="status">
      <p className="sentence">
        No binary {missing ? 'with unnamed functions ' : ''}matches “{find}”.
      </p>
      <button type="button" onClick={clear}>
        Show all binaries
      </button>
    </div>
  );
}
