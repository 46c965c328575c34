/** The profile in a recording's file, as services/recording/profile_page.py writes it. */
import { plant, type FlameFunction, type FlameTree } from '../flame/tree.ts';

/** Name, file, binary, quality of the name, kind. */
type FunctionTuple = [string, string, string, FlameFunction['status'], FlameFunction['kind']];

interface ProfileDocument {
  title: string;
  notes: string[];
  event: string;
  /** `seconds`, or the event's unit. */
  unit: string;
  samples: number;
  /** Unix time in milliseconds. */
  start_ms: number;
  /** Duration of the recording. */
  seconds: number;
  functions: FunctionTuple[];
  parent: number[];
  function: number[];
  total: number[];
  self: number[];
}

export interface Profile extends Omit<
  ProfileDocument,
  'functions' | 'parent' | 'function' | 'total' | 'self'
> {
  tree: FlameTree;
}

/** Reads the element that contains the profile. Throws if its content is damaged. */
export function readProfile(element: HTMLElement): Profile {
  const {
    functions,
    parent,
    function: func,
    total,
    self,
    ...rest
  } = JSON.parse(element.textContent) as ProfileDocument;
  const tree = plant({
    functions: functions.map(([name, file, binary, status, kind], id) => ({
      id,
      name,
      file,
      binary,
      status,
      kind,
      effective: null,
    })),
    parent: Int32Array.from(parent),
    func: Int32Array.from(func),
    total: Float64Array.from(total),
    self: Float64Array.from(self),
  });
  return { ...rest, tree };
}

export interface FunctionSums {
  function: FlameFunction;
  /** Weight of samples in the function itself. */
  self: number;
  /** Weight of samples with the function anywhere in the stack, once per stack. */
  total: number;
}

/** The functions with samples, heaviest self first. */
export function functionSums(tree: FlameTree): FunctionSums[] {
  const sums = tree.functions.map((f) => ({ function: f, self: 0, total: 0 }));
  // For each function, the end of the outermost subtree that counts it already.
  const counted = new Uint32Array(tree.functions.length);
  for (let i = 1; i < tree.n; i++) {
    const k = tree.func[i];
    sums[k].self += tree.self[i];
    if (i < counted[k]) continue;
    sums[k].total += tree.total[i];
    counted[k] = tree.end[i];
  }
  return sums.filter((each) => each.total > 0).sort((a, b) => b.self - a.self || b.total - a.total);
}
