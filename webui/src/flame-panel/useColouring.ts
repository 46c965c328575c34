/** The colours of a tree's frames, with the hues that groups had before in this tab. */
import { useEffect, useMemo } from 'react';
import { colouring, type ColourBy, type Colouring } from '../flame/colouring.ts';
import { rememberedHues, rememberHues } from '../flame/hueMemory.ts';
import type { FlameTree } from '../flame/tree.ts';

export function useColouring(tree: FlameTree, by: ColourBy): Colouring {
  const made = useMemo(() => colouring(by, tree, rememberedHues(sessionStore)), [by, tree]);
  useEffect(() => rememberHues(sessionStore, made.hues), [made]);
  return made;
}

/** Reading `sessionStorage` throws where storage is forbidden; hueMemory.ts catches that. */
const sessionStore = {
  getItem: (key: string) => sessionStorage.getItem(key),
  setItem: (key: string, value: string) => sessionStorage.setItem(key, value),
};
