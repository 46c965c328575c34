/** Texts about files with symbols and their state. */
import type {
  SymbolRequestAnswer,
  BinarySymbols,
  ReprocessingAnswer,
  SymbolFile,
  UploadAnswer,
} from '../../api/types.ts';
import { count, plural } from '../../selection/numbers.ts';

const QUALITIES: Readonly<Record<SymbolFile['quality'], string>> = {
  dwarf: 'names and lines',
  symtab: 'names, no lines',
  dynsym: 'exported names',
  none: 'no names',
};

const KINDS: Readonly<Record<SymbolFile['kind'], string>> = {
  executable: 'binary',
  debuginfo: 'debug file',
  symbols: 'symbol table',
  kallsyms: 'kernel symbols',
  altlink: 'dwz file',
  split: 'split DWARF',
};

export function qualityOf(quality: SymbolFile['quality'] | null): string {
  return quality === null ? 'nothing stored' : QUALITIES[quality];
}

export function kindOf(file: Pick<SymbolFile, 'kind'>): string {
  return KINDS[file.kind];
}

/** `1.4 MB`, in powers of ten, as in file managers. */
export function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.5 ? value.toFixed(0) : value.toPrecision(2)} ${units[unit]}`;
}

/** A build-id shortened; any other key in full. */
export function shortKey(key: string): string {
  return /^[0-9a-f]{20,}$/.test(key) ? `${key.slice(0, 12)}…` : key;
}

/** The type of an uploaded file. */
export function recognised(done: UploadAnswer): string {
  const what = `${kindOf(done.file)} of ${shortKey(done.file.key)}, ${qualityOf(done.file.quality)}`;
  if (done.outcome === 'known') return `${what}; it was stored already`;
  if (done.outcome === 'restored') return `${what}; it had been rejected and is used again`;
  return what;
}

const OUTCOMES: Readonly<Record<SymbolRequestAnswer['outcome'], string>> = {
  pending: 'no response yet',
  got: 'received',
  unconfirmed: 'received, but not used until another machine confirms it',
  disputed: 'received, but different from the file of another machine',
  absent: 'the machine no longer has it',
  refused: 'the machine does not send symbols',
  failed: 'the request failed',
};

/** The result of requesting symbols from a machine. */
export function answered(ask: Pick<SymbolRequestAnswer, 'outcome' | 'detail'>): string {
  return ask.detail === '' ? OUTCOMES[ask.outcome] : `${OUTCOMES[ask.outcome]} (${ask.detail})`;
}

/** The sentence with the problem; further sentences list the searched places. */
export function firstSentence(text: string): string {
  const end = text.indexOf('. ');
  return end < 0 ? text : text.slice(0, end + 1);
}

/** Progress of reprocessing captures for better symbols. */
export function progressOf(reprocessing: ReprocessingAnswer): string {
  const named =
    reprocessing.renamed > 0 ? `${plural(reprocessing.renamed, 'function')} named immediately` : '';
  const done = reprocessing.ingested + reprocessing.failed;
  let ingested = '';
  if (reprocessing.captures > 0 && reprocessing.left > 0) {
    ingested = `${count(done)} of ${plural(reprocessing.captures, 'capture')} reprocessed`;
  } else if (reprocessing.captures > 0) {
    ingested = `${plural(reprocessing.ingested, 'capture')} reprocessed`;
  }
  const failed = reprocessing.failed > 0 ? `${count(reprocessing.failed)} failed` : '';
  return [named, ingested, failed].filter((part) => part !== '').join(', ') || 'nothing to reprocess';
}

/** A binary's missing symbols, if any; if it never ran, it is not known whether all of it has names. */
export function stateOf(
  binary: Pick<BinarySymbols, 'kind' | 'quality' | 'status' | 'reason' | 'samples' | 'unresolved'>,
): string {
  if (binary.samples === 0) return binary.reason || 'No sample of the last day contains it.';
  if (binary.unresolved > 0) return binary.reason || advice(binary);
  if (binary.status === 'full') return 'Nothing: every function that ran has a name.';
  return `No debug file: function names only${binary.reason === '' ? '.' : `. ${binary.reason}`}`;
}

/** The most useful action, in one sentence. */
export function advice(binary: Pick<BinarySymbols, 'kind' | 'quality'>): string {
  if (binary.kind === 'anonymous' || binary.kind === 'unknown') {
    return 'This code does not come from a file, so no symbol file can name it.';
  }
  if (binary.kind === 'vdso')
    return 'This is the kernel’s page in every process; gateways can send its symbols.';
  if (binary.kind === 'kernel' || binary.kind === 'module') {
    return 'Upload its vmlinux or module with debug information, or that kernel’s kallsyms.';
  }
  if (binary.quality === 'none' || binary.quality === 'dynsym') {
    return 'The stored file is stripped. Upload the unstripped file, or its debug file.';
  }
  return 'Upload the unstripped file, or its debug file.';
}
