/** Copies of the page's question as link, curl, Python and command, and downloads in every form of its answer. */
import { useCallback } from 'react';
import { usePathname } from 'wouter/use-browser-location';
import { addressOf } from '../api/client.ts';
import { session, SESSION_HEADER } from '../api/session.ts';
import { readable } from '../selection/params.ts';
import { absolute } from '../selection/time.ts';
import { copy } from '../ui/copy.ts';
import { Popover } from '../ui/Popover.tsx';
import { useAsOf } from './asOf.tsx';
import { commandOf, curlOf, pythonOf } from './copyAs.ts';
import type { Shown } from './Page.tsx';
import { SavedViews } from './SavedViews.tsx';
import { SaveView, ShortLink } from './SaveView.tsx';
import { useToast } from './Toast.tsx';

/** The main question of a page. */
export interface Shared {
  route: string;
  query: object;
  path?: object;
  /** The `format`s of its answer (docs/export.md), besides json. */
  formats: readonly string[];
  /** The command that asks it; null: none does. Default: found by the route (copyAs.ts). */
  command?: string | null;
}

export const ROW_FORMATS = ['csv', 'arrow'] as const;
export const STACK_FORMATS = [...ROW_FORMATS, 'pprof', 'collapsed', 'speedscope'] as const;

/** Copies a link to the page that shows the same later. */
export function useCopyLink(place: Shown): () => Promise<void> {
  const { asOf } = useAsOf();
  const say = useToast();
  const path = usePathname();
  return useCallback(async () => {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(absolute(place, asOf))) query.set(name, value);
    const link = location.origin + path + readable(query);
    say((await copy(link)) ? 'Link copied. Its times are fixed.' : `Copy this link: ${link}`);
  }, [place, asOf, say, path]);
}

interface Props {
  place: Shown;
  share: Shared | null;
  copyLink: () => Promise<void>;
}

export function ShareMenu({ share, copyLink }: Props) {
  const say = useToast();
  const copyText = (what: string, text: string): void => {
    void copy(text).then((done) => say(done ? `${what} copied.` : `Copy this: ${text}`));
  };
  return (
    <Popover label="copy and export" button="Export ▾" title="copy this page’s question, download its answer">
      {(close) => {
        const item = (text: string, run: () => void) => (
          <button
            type="button"
            onClick={() => {
              close();
              run();
            }}
          >
            {text}
          </button>
        );
        const address = share && addressOf(share.route, share.query, share.path);
        const command = share && commandOf(share);
        return (
          <div className="menu-links">
            {item('Copy link ( y )', () => void copyLink())}
            <ShortLink close={close} />
            <SaveView close={close} />
            <SavedViews close={close} />
            {address !== null && share !== null && (
              <>
                {item('Copy as curl', () => copyText('The curl command is', curlOf(address)))}
                {item('Copy as Python', () => copyText('The Python program is', pythonOf(address)))}
                {command !== null &&
                  item('Copy as fleetprof command', () => copyText('The command is', command))}
                <span className="menu-title">Download</span>
                {['json', ...share.formats].map((format) => (
                  <span key={format}>
                    {item(format, () => void download(share, format).catch((e: Error) => say(e.message)))}
                  </span>
                ))}
              </>
            )}
          </div>
        );
      }}
    </Popover>
  );
}

/** Saves the answer as a file. A link cannot do it: the request needs the session's header. */
async function download(share: Shared, format: string): Promise<void> {
  const address = addressOf(share.route, { ...share.query, format, download: 1 }, share.path);
  const response = await fetch(address, { headers: { [SESSION_HEADER]: session() } });
  if (!response.ok) {
    const problem = (await response.json().catch(() => ({}))) as { detail?: string };
    throw new Error(problem.detail ?? `The server returned status ${response.status}.`);
  }
  const name = /filename="?([^";]+)/.exec(response.headers.get('Content-Disposition') ?? '')?.[1];
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = name ?? `fleetprof.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
