/** The colours of a tree's frames: the reader's choice of their meaning, and the hues seen before in this tab. */
import { useEffect, useMemo, useState } from 'react';
import { colouring, modesOf, type ColourBy, type Colouring } from '../flame/colouring.ts';
import { rememberedHues, rememberHues } from '../flame/hueMemory.ts';
import type { FlameTree } from '../flame/tree.ts';

const KEY = 'fleetprof:colour-by';

export interface Colours {
  by: ColourBy;
  choose(by: ColourBy): void;
  /** What the tree can be coloured by. */
  modes: readonly ColourBy[];
  colouring: Colouring;
}

export function useColouring(tree: FlameTree): Colours {
  const [chosen, setChosen] = useState(rememberedChoice);
  const modes = useMemo(() => modesOf(tree), [tree]);
  const by = modes.find((mode) => mode === chosen) ?? 'package';
  const made = useMemo(() => colouring(by, tree, rememberedHues(sessionStore)), [by, tree]);
  useEffect(() => rememberHues(sessionStore, made.hues), [made]);
  const choose = (next: ColourBy): void => {
    setChosen(next);
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // storage is forbidden: the choice lasts as long as the page
    }
  };
  return { by, choose, modes, colouring: made };
}

function rememberedChoice(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Reading `sessionStorage` throws where storage is forbidden; hueMemory.ts catches that. */
const sessionStore = {
  getItem: (key: string) => sessionStorage.getItem(key),
  setItem: (key: string, value: string) => sessionStorage.setItem(key, value),
};
