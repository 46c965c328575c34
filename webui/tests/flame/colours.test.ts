import { describe, expect, it } from 'vitest';
import { colouring } from '../../src/flame/colouring.ts';
import { byWeight, groupOf, packageOf, pythonPackageOf } from '../../src/flame/groups.ts';
import { rememberedHues, rememberHues } from '../../src/flame/hueMemory.ts';
import { assignHues, HUES, preferredHue } from '../../src/flame/hues.ts';
import { LIGHT } from '../../src/flame/palette.ts';
import type { FlameFunction, FlameTree } from '../../src/flame/tree.ts';
import { fn, random, tree } from './grow.ts';

const NONE: ReadonlyMap<string, number> = new Map();

/** A tree whose functions are these, in the order of `nodes`. */
function treeOf(functions: Partial<FlameFunction>[], t: FlameTree): FlameTree {
  return { ...t, functions: t.functions.map((f, k) => ({ ...f, ...functions[k] })) };
}

describe('packageOf', () => {
  it.each([
    ['std::vector<int>::push_back(int)', 'std'],
    ['<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend', 'alloc'],
    ['net/http.(*conn).serve', 'net/http'],
    ['github.com/x/y/pkg.(*T).Method.func1', 'github.com/x/y/pkg'],
    ['runtime.mallocgc', 'runtime'],
    ['runtime.goexit.abi0', 'runtime'],
    ['java.util.HashMap.get', 'java.util'],
    ['malloc', null],
    ['memcpy@@GLIBC_2.14', null],
    ['_PyEval_EvalFrameDefault.cold', null],
    ['gcm_ghash.constprop.0', null],
  ])('%s', (name, expected) => {
    expect(packageOf(name)).toBe(expected);
  });
});

describe('pythonPackageOf', () => {
  it.each([
    ['/usr/lib/python3/dist-packages/requests/sessions.py', 'requests'],
    ['/srv/app/.venv/lib/python3.12/site-packages/django/core/handlers/base.py', 'django'],
    ['/usr/lib/python3.11/json/decoder.py', 'json'],
    ['/usr/lib/python3.11/threading.py', 'threading'],
    ['<frozen importlib._bootstrap>', 'importlib'],
    ['/srv/app/views.py', null],
    ['<string>', null],
  ])('%s', (file, expected) => {
    expect(pythonPackageOf(file)).toBe(expected);
  });
});

describe('assignHues', () => {
  it('gives the heaviest groups different hues', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const next = random(seed);
      const groups = Array.from({ length: 14 }, () => `g${Math.floor(next() * 1e6)}`);
      const remembered = new Map(
        groups.filter(() => next() < 0.5).map((g) => [g, Math.floor(next() * HUES)]),
      );
      const hues = assignHues(groups, remembered);
      expect([...hues.keys()].sort()).toEqual(groups.slice(0, HUES).sort());
      expect(new Set(hues.values()).size).toBe(HUES);
      for (const hue of hues.values()) expect(hue >= 0 && hue < HUES).toBe(true);
    }
  });

  it('gives a group the hue it prefers if that is free', () => {
    expect(assignHues(['libc.so.6'], NONE).get('libc.so.6')).toBe(preferredHue('libc.so.6'));
    const rival = Array.from({ length: 100 }, (_, k) => `g${k}`).find(
      (g) => preferredHue(g) === preferredHue('libc.so.6'),
    )!;
    const hues = assignHues(['libc.so.6', rival], NONE);
    expect(hues.get('libc.so.6')).toBe(preferredHue('libc.so.6'));
    expect(hues.get(rival)).toBe((preferredHue('libc.so.6') + 1) % HUES);
  });

  it('keeps the hues of an earlier tree, in whatever order of weight', () => {
    const groups = ['net/http', 'runtime', 'std', 'java.util', 'libc.so.6', 'node', 'acme', 'strings'];
    const first = assignHues(groups, NONE);
    const later = assignHues(['new', ...groups.toReversed()], first);
    for (const group of groups) expect(later.get(group)).toBe(first.get(group));
    expect([...first.values()]).not.toContain(later.get('new'));
  });
});

describe('the memory of hues', () => {
  function store(content: string | null): Pick<Storage, 'getItem' | 'setItem'> & { content: string | null } {
    return {
      content,
      getItem() {
        return this.content;
      },
      setItem(_, value) {
        this.content = value;
      },
    };
  }

  it('returns what was stored, the latest assignment of each group', () => {
    const memory = store(null);
    rememberHues(memory, new Map([['a', 3], ['b', 4]])); // prettier-ignore
    rememberHues(memory, new Map([['a', 7]]));
    expect(rememberedHues(memory)).toEqual(new Map([['b', 4], ['a', 7]])); // prettier-ignore
  });

  it('forgets the oldest', () => {
    const memory = store(null);
    for (let k = 0; k < 400; k++) rememberHues(memory, new Map([[`g${k}`, k % HUES]]));
    expect(rememberedHues(memory).size).toBe(300);
    expect(rememberedHues(memory).has('g399')).toBe(true);
  });

  it.each(['nonsense', '{}', '[1]', '[["a",99]]', '[["a",1.5]]', '[[1,2]]'])('ignores %s', (content) => {
    expect(rememberedHues(store(content)).size).toBe(0);
  });

  it('does without a storage', () => {
    const forbidden = {
      getItem: () => {
        throw new Error('forbidden');
      },
      setItem: () => {
        throw new Error('forbidden');
      },
    };
    rememberHues(forbidden, new Map([['a', 1]]));
    expect(rememberedHues(forbidden).size).toBe(0);
  });
});

it('sums self time by group, heaviest first, ties by name', () => {
  const t = tree(100, [
    [0, 'std::a()', 60],
    [1, 'std::b()', 50],
    [0, 'z', 20],
    [0, 'alloc::c()', 20],
  ]);
  expect(byWeight(t, t.functions.map(groupOf)).map((g) => [g.name, g.share])).toEqual([
    ['std', 0.6],
    ['alloc', 0.2],
    ['app', 0.2],
  ]);
});

describe('colouring', () => {
  const t = treeOf(
    [
      { name: 'std::sort(int*)', binary: 'search' },
      { name: 'malloc', binary: 'libc.so.6' },
      { name: 'vfs_read', binary: 'vmlinux', kind: 'kernel' },
      { name: 'libz.so+0x40', binary: 'libz.so', status: 'binary_only' },
      { name: 'free', binary: 'libc.so.6' },
    ],
    tree(100, [
      [0, 'a', 60],
      [1, 'b', 20],
      [1, 'c', 15],
      [1, 'd', 10],
      [0, 'e', 20],
    ]),
  );
  const colours = (mode: Parameters<typeof colouring>[0], of = t, remembered = NONE): string[] => {
    const c = colouring(mode, of, remembered);
    return Array.from({ length: of.n }, (_, i) => c.colourOf(i, LIGHT));
  };

  it('by package: kernel frames and frames without a name have their own', () => {
    const [root, sort, malloc, kernel, unnamed, free] = colours('package');
    expect([root, kernel, unnamed]).toEqual([LIGHT.root, LIGHT.kernel, LIGHT.unnamed]);
    expect(LIGHT.hues).toContain(sort);
    expect(malloc).toBe(free);
    expect(malloc).not.toBe(sort);
  });

  it('by package: legend and frames agree, and the hues are those to remember', () => {
    const c = colouring('package', t, NONE);
    expect(c.legend.map((entry) => [entry.text, entry.share])).toEqual([
      ['libc.so.6', 0.4],
      ['kernel', 0.15],
      ['std', 0.15],
      ['no symbols', 0.1],
    ]);
    expect(c.legend.map((entry) => entry.colour(LIGHT))).toEqual(
      [2, 3, 1, 4].map((i) => c.colourOf(i, LIGHT)),
    );
    expect([...c.hues.keys()].sort()).toEqual(['libc.so.6', 'std']);
    expect(colours('package', t, new Map([['std', 7]]))[1]).toBe(LIGHT.hues[7]);
  });

  it('by kind: kernel, program, library', () => {
    const c = colouring('kind', t, NONE);
    expect(c.legend.map((entry) => entry.text)).toEqual(['library', 'kernel', 'program']);
    const [, program, libc, kernel, libz] = colours('kind');
    expect(libc).toBe(libz);
    expect(new Set([program, libc, kernel]).size).toBe(3);
  });

  it('Python functions: by their package, a program’s own by themselves, and one kind', () => {
    const python = { binary: '[python]', status: 'full' as const };
    const mixed = treeOf(
      [
        fn('C.main', { ...python, file: '/srv/app/main.py' }),
        fn('loads', { ...python, file: '/usr/lib/python3.11/json/__init__.py' }),
        fn('PyObject_Call', { binary: 'libpython3.11.so.1.0' }),
      ],
      tree(100, [
        [0, 'a', 90],
        [1, 'b', 80],
        [2, 'c', 30],
      ]),
    );
    const texts = (mode: 'package' | 'kind') => colouring(mode, mixed, NONE).legend.map((e) => e.text);
    expect(texts('package').sort()).toEqual(['[python]', 'json', 'libpython3.11.so.1.0']);
    expect(texts('kind')).toEqual(['[python]', 'library']);
    const [, main, loads, c] = colours('kind', mixed);
    expect(main).toBe(loads);
    expect(main).not.toBe(c);
  });

  it('by self time: from frames that pass it on to frames that take it', () => {
    const [root, passes, takes] = colours('self');
    expect([root, passes, takes]).toEqual([LIGHT.root, LIGHT.heat[1], LIGHT.heat.at(-1)]);
  });

  it('by application: the subtree has the colour of its value', () => {
    const grouped = treeOf(
      [fn('checkout', { id: -1, kind: 'marker' }), fn('f'), fn('search', { id: -2, kind: 'marker' })],
      tree(100, [
        [0, 'x', 60],
        [1, 'f', 50],
        [0, 'y', 30],
        [3, 'f', 5],
      ]),
    );
    const [, checkout, f, search, g] = colours('application', grouped);
    expect([f, g]).toEqual([checkout, search]);
    expect(checkout).not.toBe(search);
  });
});
