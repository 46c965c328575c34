/** The drop area for files with symbols, and the result for each file. */
import { useEffect, useRef, useState, type DragEvent } from 'react';
import type { UploadTerms } from '../../api/types.ts';
import { Command } from '../../ui/Command.tsx';
import { Meter } from './Meter.tsx';
import { useBinary } from './queries.ts';
import { ReprocessingProgress } from './ReprocessingProgress.tsx';
import { useUploads, type Upload } from './useUploads.ts';
import { recognised, size } from './words.ts';

interface Props {
  terms: UploadTerms | undefined;
  say: (text: string) => void;
  /** Show the details of a binary. */
  show: (key: string) => void;
}

export function UploadPanel({ terms, say, show }: Props) {
  const { uploads, add, clear } = useUploads();
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const allowed = terms?.allowed ?? true;
  const idle = uploads.every((u) => u.state === 'done' || u.state === 'failed');

  // Otherwise the browser would open a file that misses the field instead of the page.
  useEffect(() => {
    const stay = (event: Event): void => event.preventDefault();
    addEventListener('dragover', stay);
    addEventListener('drop', stay);
    return () => {
      removeEventListener('dragover', stay);
      removeEventListener('drop', stay);
    };
  }, []);
  useEffect(() => {
    if (idle) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [idle]);

  const drop = (event: DragEvent): void => {
    setOver(false);
    const items = [...event.dataTransfer.items].filter((item) => item.kind === 'file');
    const folders = items.filter((item) => item.webkitGetAsEntry()?.isDirectory).length;
    const files = items
      .filter((item) => !item.webkitGetAsEntry()?.isDirectory)
      .flatMap((item) => item.getAsFile() ?? []);
    if (folders > 0) say('To upload a folder, run: fleetprof symbols upload -r FOLDER');
    add(files);
  };

  return (
    <section className="panel upload" aria-label="upload">
      <div className="take">
        {allowed ? (
          <div
            className={over ? 'drop over' : 'drop'}
            onDragEnter={() => setOver(true)}
            onDragLeave={(event) =>
              event.currentTarget.contains(event.relatedTarget as Node) || setOver(false)
            }
            onDrop={drop}
          >
            <p>
              <b>Drop files with symbols here</b>, or{' '}
              <button type="button" onClick={() => input.current?.click()}>
                choose files
              </button>
              <input
                ref={input}
                type="file"
                multiple
                hidden
                aria-label="files with symbols"
                onChange={(event) => {
                  add([...(event.target.files ?? [])]);
                  event.target.value = '';
                }}
              />
            </p>
            <p className="note">
              Unstripped binaries, debug files, vmlinux, kernel modules, split DWARF. The build is read from
              the file, so the file’s name does not matter.
            </p>
          </div>
        ) : (
          <p className="drop note">Uploads need the role operator; your role is read-only.</p>
        )}
        <p className="from-ci note">
          From a build: <Command text="fleetprof symbols upload -r BUILD" />
        </p>
      </div>
      {uploads.length > 0 && (
        <ul className="uploads" aria-label="uploads">
          {uploads.map((u) => (
            <UploadRow key={u.id} upload={u} show={show} />
          ))}
          {idle && (
            <li>
              <button type="button" className="link" onClick={clear}>
                Clear the list
              </button>
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

function UploadRow({ upload, show }: { upload: Upload; show: (key: string) => void }) {
  const { file, state, answer } = upload;
  return (
    <li className={state === 'failed' ? 'failed' : undefined}>
      <span className="code name" title={file.name}>
        {file.name}
      </span>{' '}
      <span className="note">{size(file.size)}</span>
      <div role="status">
        {state === 'waiting' && <span className="note">waiting for the previous file</span>}
        {state === 'sending' && upload.sent < file.size && (
          <Meter label={`${file.name} sent`} done={upload.sent} of={file.size} />
        )}
        {state === 'sending' && upload.sent >= file.size && (
          <span className="note">being checked and stored</span>
        )}
        {state === 'failed' && <span className="bad">{upload.why}</span>}
        {answer && (
          <>
            <span>{recognised(answer)}. </span>
            <button type="button" className="link" onClick={() => show(answer.file.key)}>
              Details
            </button>
            {answer.notes.map((note) => (
              <p key={note} className="note">
                {note}
              </p>
            ))}
            {answer.best && answer.seen && <Consequence upload={upload} />}
          </>
        )}
      </div>
    </li>
  );
}

/** Results of the upload: functions that have names now, captures that are reprocessed. */
function Consequence({ upload }: { upload: Upload }) {
  const answer = upload.answer!;
  const [since] = useState(() => Date.now());
  const binary = useBinary(answer.file.key, Date.now() - since < 60_000);
  const reprocessing = binary.data?.binary.reprocessing;
  if (reprocessing == null || reprocessing.id <= answer.reprocessing_before) {
    return (
      <p className="note">
        Its functions are being named
        <span className="dots" aria-hidden="true" />
      </p>
    );
  }
  return (
    <p>
      <ReprocessingProgress reprocessing={reprocessing} />
    </p>
  );
}
