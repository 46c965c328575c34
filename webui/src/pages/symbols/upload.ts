/** Uploads one file to the symbol store. */
import { problemOf, unreachable } from '../../api/problem.ts';
import { session, SESSION_HEADER } from '../../api/session.ts';
import type { UploadAnswer } from '../../api/types.ts';

/**
 * Sends the file; resolves to the server's response or throws an ApiProblem. Uses XMLHttpRequest, because
 * `fetch` does not report the progress of an upload.
 */
export function upload(
  file: File,
  sent: (bytes: number) => void,
  signal: AbortSignal,
): Promise<UploadAnswer> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(
      'POST',
      `/api/v1/symbols?${new URLSearchParams({ name: file.name.slice(0, 255) }).toString()}`,
    );
    request.responseType = 'text';
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.setRequestHeader(SESSION_HEADER, session());
    request.upload.onprogress = (event) => sent(event.loaded);
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status === 200) resolve(body as UploadAnswer);
      else {
        const headers = { get: (name: string) => request.getResponseHeader(name) };
        reject(problemOf({ status: request.status, headers }, body));
      }
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
