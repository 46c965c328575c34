/** The texts of the files that a function's instructions are of. */
import { useMemo } from 'react';
import { useQueries } from '@tanstack/react-query';
import { questionOf, retryPassing } from '../../api/useAnswer.ts';
import type { FileText } from '../../views/asm/AsmView.tsx';
import { filesOf, type DisassemblyAnswer } from '../../views/asm/instructions.ts';

/** Files with most samples; others of a function are headers with a line or two. */
const FILES = 3;

export function useFileTexts({ rows, build_id: key }: DisassemblyAnswer): ReadonlyMap<string, FileText> {
  const files = useMemo(() => (key === null ? [] : filesOf(rows).slice(0, FILES)), [rows, key]);
  const texts = useQueries({
    queries: files.map((path) => ({
      ...questionOf('/api/v1/source', { binary: key ?? '', path }),
      retry: retryPassing,
    })),
  });
  const colours = useQueries({
    queries: files.map((path, k) => ({
      ...questionOf('/api/v1/source/highlighting', { binary: key ?? '', path }),
      enabled: texts[k]?.data !== undefined,
      retry: retryPassing,
    })),
  });
  const known = new Map<string, FileText>();
  files.forEach((path, k) => {
    const text = texts[k]?.data;
    const found = colours[k]?.data;
    if (text !== undefined)
      known.set(path, {
        lines: text.text.split(/\r?\n/),
        highlighting: found?.sha256 === text.sha256 ? found : undefined,
      });
  });
  return known;
}
