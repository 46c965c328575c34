/** A recording: its flame graph and its functions, without a server. */
import { useMemo, useState } from 'react';
import { frameScale } from '../estimates/flame.ts';
import { colouring } from '../flame/colouring.ts';
import { findNode, nodeKey } from '../flame/identity.ts';
import { DARK, LIGHT } from '../flame/palette.ts';
import { nameOf } from '../flame/tree.ts';
import { unionOf } from '../flame/union.ts';
import { FlameBox } from '../flame-panel/FlameBox.tsx';
import { Legend } from '../flame-panel/Legend.tsx';
import { Share, Shares } from '../flame-panel/Share.tsx';
import { count, duration, percent, quantity } from '../selection/numbers.ts';
import { DataTable, type Column } from '../ui/DataTable.tsx';
import { FittedName } from '../ui/FittedName.tsx';
import { Segments } from '../ui/Segments.tsx';
import { functionSums, type FunctionSums, type Profile } from './document.ts';
import { useHashState } from './hashState.ts';

const VIEWS = [
  { value: 'both', text: 'Both', title: 'table and flame graph' },
  { value: 'table', text: 'Table', title: 'functions' },
  { value: 'flame', text: 'Flame', title: 'flame graph' },
] as const;

const MOST_ROWS = 500;

export function ProfilePage({ profile, dark }: { profile: Profile; dark: boolean }) {
  const { tree } = profile;
  const [state, go] = useHashState();
  const [selected, setSelected] = useState(0);
  const pattern = useMemo(() => compiled(state.find), [state.find]);
  const union = useMemo(
    () => (pattern instanceof RegExp ? unionOf(tree, (f) => pattern.test(f.name)) : null),
    [tree, pattern],
  );
  const colours = useMemo(() => colouring('package', tree, new Map()), [tree]);
  const timed = profile.unit === 'seconds';
  const scale = useMemo(
    () =>
      frameScale(tree, 1, profile.unit, 'share', {
        population: 0,
        estimated: 0,
        price: null,
        timed,
        random: false,
      }),
    [tree, profile.unit, timed],
  );
  const whole = tree.total[0] || 1;
  const amount = (weight: number): string =>
    timed ? duration(weight) : `${quantity(weight)} ${profile.unit}`;
  const rows = useMemo(
    () =>
      functionSums(tree).filter(({ function: f }) => !(pattern instanceof RegExp) || pattern.test(f.name)),
    [tree, pattern],
  );
  const node = Math.max(0, findNode(tree, state.node));
  const shown = Math.min(selected, tree.n - 1);
  return (
    <main className={`recording view-${state.view}`}>
      <header>
        <h1>{profile.title}</h1>
        <p className="note">
          {count(profile.samples)} samples · {amount(tree.total[0])} of {profile.event} in{' '}
          {duration(profile.seconds)} · {new Date(profile.start_ms).toLocaleString()}
        </p>
        {profile.notes.map((note) => (
          <p key={note} className="note warn">
            {note}
          </p>
        ))}
      </header>
      <div className="bar-top">
        <Segments label="view" value={state.view} options={VIEWS} onChange={(view) => go({ view })} />
        <input
          type="search"
          aria-label="find functions (regular expression)"
          placeholder="Find functions"
          value={state.find}
          onChange={(e) => go({ find: e.target.value }, true)}
        />
        {pattern === null && <span className="note warn">This is not a regular expression.</span>}
        {union !== null && (
          <span className="note" role="status">
            {count(union.functions)} functions, {percent(union.total / whole)} of all samples
          </span>
        )}
        <span className="spacer" />
        <button type="button" onClick={() => go({ up: state.up === '1' ? '' : '1' })}>
          {state.up === '1' ? 'Callers on top' : 'Callers at the bottom'}
        </button>
        <button type="button" disabled={node === 0} onClick={() => go({ node: '' })}>
          Reset zoom
        </button>
      </div>
      <div className="panels">
        {state.view !== 'flame' && (
          <section className="panel functions" aria-label="functions">
            <DataTable
              label="functions by time"
              columns={columnsOf(whole, (name) => go({ find: `^${escaped(name)}$` }))}
              rows={rows.slice(0, MOST_ROWS)}
              keyOf={(row) => String(row.function.id)}
              sorted="self"
              empty="No function matches."
            />
            {rows.length > MOST_ROWS && (
              <p className="note">{count(rows.length - MOST_ROWS)} lighter functions are not listed.</p>
            )}
          </section>
        )}
        {state.view !== 'table' && (
          <section className="panel flame" aria-label="flame graph">
            <FlameBox
              label="Flame graph. The table has the same data."
              tree={tree}
              zoom={node}
              figures={(each) => <Shares tree={tree} node={each} scale={scale} />}
              colouring={colours}
              union={union}
              upward={state.up === '1'}
              dark={dark}
              onSelect={setSelected}
              onZoom={(each) => go({ node: nodeKey(tree, each) })}
            />
            <div className="details">
              <span className="name code">{nameOf(tree, shown)}</span>
              <span className="numbers">
                <span>
                  total <Share tree={tree} node={shown} weight={tree.total[shown]} scale={scale} />
                </span>
                <span>
                  self <Share tree={tree} node={shown} weight={tree.self[shown]} scale={scale} />
                </span>
              </span>
              <Where profile={profile} node={shown} />
            </div>
            <Legend entries={colours.legend} palette={dark ? DARK : LIGHT} />
          </section>
        )}
      </div>
    </main>
  );
}

function Where({ profile: { tree }, node }: { profile: Profile; node: number }) {
  if (tree.func[node] < 0) return null;
  const { file, binary } = tree.functions[tree.func[node]];
  return (
    <span className="where code">
      {binary} {file}
    </span>
  );
}

function columnsOf(whole: number, onName: (name: string) => void): readonly Column<FunctionSums>[] {
  return [
    {
      name: 'self',
      title: 'share of samples in the function itself',
      number: true,
      cell: (row) => percent(row.self / whole),
      sortBy: (row) => row.self,
    },
    {
      name: 'total',
      title: 'share of samples in the function or below it',
      number: true,
      cell: (row) => percent(row.total / whole),
      sortBy: (row) => row.total,
    },
    {
      name: 'function',
      wide: true,
      cell: ({ function: f }) => (
        <button type="button" className="link code" onClick={() => onName(f.name)}>
          <FittedName name={f.name} />
        </button>
      ),
      sortBy: (row) => row.function.name,
    },
    {
      name: 'binary',
      cell: (row) => <span className="code binary">{row.function.binary}</span>,
      sortBy: (row) => row.function.binary,
    },
  ];
}

/** The expression; undefined if there is none, null if it is invalid. */
function compiled(text: string): RegExp | null | undefined {
  if (text === '') return undefined;
  try {
    return new RegExp(text, 'i');
  } catch {
    return null;
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
