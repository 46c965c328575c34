/** All information about one binary's symbols, and the actions on them. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, api } from '../../api/client.ts';
import type { BinaryAnswer, SymbolFile } from '../../api/types.ts';
import { duration } from '../../selection/numbers.ts';
import { localMinute } from '../../selection/time.ts';
import { Command } from '../../ui/Command.tsx';
import { copy } from '../../ui/copy.ts';
import { useBinary } from './queries.ts';
import { ReprocessingProgress } from './ReprocessingProgress.tsx';
import { advice, answered, kindOf, qualityOf, size } from './words.ts';

interface Props {
  binaryKey: string;
  /** The user may remove files. */
  allowed: boolean;
  say: (text: string) => void;
}

export function BinaryDetails({ binaryKey, allowed, say }: Props) {
  const { data, error } = useBinary(binaryKey);
  if (error !== null && data === undefined) return <p className="bad">{error.message}</p>;
  if (data === undefined) return <span className="bone" style={{ height: 60 }} />;
  const state = data.binary;
  return (
    <div className="binary-details">
      <dl>
        <dt>Key</dt>
        <dd>
          <span className="code key">{state.key}</span>{' '}
          <button
            type="button"
            className="link"
            onClick={() => void copy(state.key).then((done) => say(done ? 'Key copied.' : state.key))}
          >
            Copy
          </button>
        </dd>
        {state.path !== '' && (
          <>
            <dt>Path</dt>
            <dd className="code">{state.path}</dd>
          </>
        )}
        {state.reason !== '' && (
          <>
            <dt>Why</dt>
            <dd>{state.reason}</dd>
          </>
        )}
        {state.unresolved > 0 && state.quality !== 'dwarf' && (
          <>
            <dt>Remedy</dt>
            <dd>
              {advice(state)}{' '}
              {state.kind === 'file' && <Command text={`fleetprof symbols upload ${state.name}.debug`} />}
            </dd>
          </>
        )}
        {state.reprocessing && (
          <>
            <dt>Last change</dt>
            <dd>
              {state.reprocessing.why}{' '}
              <span className="note">{localMinute(state.reprocessing.requested_at)}</span>{' '}
              <ReprocessingProgress reprocessing={state.reprocessing} />
            </dd>
          </>
        )}
      </dl>
      <Files answer={data} allowed={allowed} say={say} />
      <Attempts answer={data} />
    </div>
  );
}

function Files({
  answer,
  allowed,
  say,
}: {
  answer: BinaryAnswer;
  allowed: boolean;
  say: (text: string) => void;
}) {
  if (answer.files.length === 0) return <p className="note">No symbol file of this binary is stored.</p>;
  return (
    <table className="plain">
      <caption>Stored files, best first</caption>
      <thead>
        <tr>
          <th scope="col">File</th>
          <th scope="col">Contents</th>
          <th scope="col" className="number">
            Size
          </th>
          <th scope="col">From</th>
          <th scope="col">Since</th>
          <th scope="col">
            <span className="sr-only">actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {answer.files.map((file) => (
          <FileRow key={file.sha256} file={file} allowed={allowed} say={say} />
        ))}
      </tbody>
    </table>
  );
}

function FileRow({
  file,
  allowed,
  say,
}: {
  file: SymbolFile;
  allowed: boolean;
  say: (text: string) => void;
}) {
  const client = useQueryClient();
  const [sure, setSure] = useState(false);
  const removal = useMutation({
    mutationFn: () => {
      const path = { key: file.key, sha256: file.sha256 };
      return answerOf<void>(api.DELETE('/api/v1/symbols/{key}/{sha256}', { params: { path } }));
    },
    onSuccess: () => client.invalidateQueries(),
    onError: (error) => say(error.message),
    onSettled: () => setSure(false),
  });
  return (
    <tr className={file.rejected === null ? undefined : 'rejected'}>
      <td className="code" title={`SHA-256 ${file.sha256}`}>
        {file.name || file.sha256.slice(0, 12)}
        {file.rejected !== null && <span className="reason">Not used: {file.rejected}</span>}
      </td>
      <td>
        {kindOf(file)}, {qualityOf(file.quality)}
      </td>
      <td className="number">{size(file.bytes)}</td>
      <td>
        {file.origin}
        {file.uploaded_by !== '' && <span className="note"> by {file.uploaded_by}</span>}
      </td>
      <td>{localMinute(file.added_at)}</td>
      <td>
        {allowed &&
          (sure ? (
            <>
              <button type="button" onClick={() => removal.mutate()} disabled={removal.isPending}>
                Remove it
              </button>{' '}
              <button type="button" onClick={() => setSure(false)}>
                Keep
              </button>
            </>
          ) : (
            <button
              type="button"
              onClick={() => setSure(true)}
              aria-label={`remove ${file.name || file.sha256}`}
            >
              Remove
            </button>
          ))}
      </td>
    </tr>
  );
}

/** Built symbols, and the sources without them. */
function Attempts({ answer }: { answer: BinaryAnswer }) {
  return (
    <ul className="attempts">
      {answer.caches.map((cache) => (
        <li key={cache.producer}>
          {cache.building && 'A lookup table is being built. '}
          {cache.built_at !== null &&
            `Lookup table built at ${localMinute(cache.built_at)}${cache.bytes === null ? '' : `, ${size(cache.bytes)}`}${
              cache.cpu_seconds === null ? '' : `, in ${duration(cache.cpu_seconds)} of CPU time`
            }. `}
          {cache.failure !== '' && <span className="bad">The last build failed: {cache.failure}</span>}
        </li>
      ))}
      {answer.requests.map((request) => (
        <li key={request.kind}>
          Requested from {request.machine} at {localMinute(request.requested_at)}: {answered(request)}.
        </li>
      ))}
      {answer.absences.map((absence) => (
        <li key={`${absence.kind} ${absence.source}`}>
          {absence.source} has no {absence.kind}: {absence.reason}{' '}
          <span className="note">Next attempt after {localMinute(absence.until)}.</span>
        </li>
      ))}
    </ul>
  );
}
