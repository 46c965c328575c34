/** The flame graph of a comparison: frames coloured by what they take more or less. */
import { useMemo, useState } from 'react';
import type { ComparePlace } from '../../app/pages.ts';
import { FUNCTION, linkTo } from '../../app/pages.ts';
import { useDark } from '../../app/theme.ts';
import type { CompareGo } from '../../app/usePlace.ts';
import { findNode, nodeKey } from '../../flame/identity.ts';
import { DARK, LIGHT } from '../../flame/palette.ts';
import { nameOf } from '../../flame/tree.ts';
import { unionOf } from '../../flame/union.ts';
import { FlameBox } from '../../flame-panel/FlameBox.tsx';
import { Legend } from '../../flame-panel/Legend.tsx';
import { count, percent } from '../../selection/numbers.ts';
import { matchesFind } from '../../table/marks.ts';
import { Segments } from '../../ui/Segments.tsx';
import { Link } from 'wouter';
import { ratio, signed } from './change.ts';
import { changeColouring, diffTreeOf, type DiffTree, type FlameDiffAnswer } from './diffTree.ts';

const DIRECTIONS = [
  { value: 'down', text: 'Icicle', title: 'callers above their callees' },
  { value: 'up', text: 'Flame', title: 'callers below their callees' },
] as const;

interface Props {
  answer: FlameDiffAnswer;
  place: ComparePlace;
  go: CompareGo;
}

export function FlameDiff({ answer, place, go }: Props) {
  const dark = useDark();
  const shown = useMemo(() => diffTreeOf(answer), [answer]);
  const colouring = useMemo(() => changeColouring(shown), [shown]);
  const { tree } = shown;
  const zoom = useMemo(() => Math.max(0, findNode(tree, place.node)), [tree, place.node]);
  const union = useMemo(() => {
    const find = matchesFind(place.find, place.regex);
    return typeof find === 'function' ? unionOf(tree, (f) => find(f.name)) : null;
  }, [tree, place.find, place.regex]);
  const [selected, setSelected] = useState(zoom);
  const node = Math.min(selected, tree.n - 1);
  const id = tree.func[node] < 0 ? null : tree.functions[tree.func[node]].id;
  return (
    <>
      <div className="bar-top">
        <Segments
          label="direction"
          value={place.direction}
          options={DIRECTIONS}
          onChange={(direction) => go({ direction }, 'replace')}
        />
        <button type="button" disabled={place.node === ''} onClick={() => go({ node: '' })}>
          Reset zoom
        </button>
        <input
          id="find"
          type="search"
          value={place.find}
          placeholder="Find a function"
          aria-label="find a function"
          onChange={(e) => go({ find: e.target.value }, 'replace')}
        />
        <span className="spacer" />
        <Legend entries={colouring.legend} palette={dark ? DARK : LIGHT} />
      </div>
      <FlameBox
        label="Flame graph of a comparison. The table has the changes of functions."
        tree={tree}
        zoom={zoom}
        figures={(at) => <Figures shown={shown} node={at} />}
        colouring={colouring}
        union={union}
        upward={place.direction === 'up'}
        dark={dark}
        onSelect={setSelected}
        onZoom={(at) => go({ node: nodeKey(tree, at) })}
      />
      <div className="details">
        <span className="name code">{nameOf(tree, node)}</span>
        <dl className="numbers inline">
          <Figures shown={shown} node={node} />
        </dl>
        {id !== null && (
          <span className="actions">
            <Link href={linkTo(FUNCTION, place, {}, id)}>Open the function’s page</Link>
          </span>
        )}
      </div>
      <p className="sr-only" aria-live="polite">
        {`${nameOf(tree, node)}: ${inWords(shown, node)}`}
      </p>
      <p className="bar-bottom note">
        {count(tree.n - 1)} frames, as wide as the mean of both sides. Colours show any change; the table
        shows which changes are significant.
        {answer.pruned.nodes > 0 &&
          ` ${count(answer.pruned.nodes)} frames of at most ${percent(answer.pruned.heaviest)} are left out.`}
      </p>
    </>
  );
}

function Figures({ shown, node }: { shown: DiffTree; node: number }) {
  const row = (after: number, before: number) => (
    <>
      {percent(before)} → <b>{percent(after)}</b> {signed(after - before, 'share')} {ratio({ after, before })}
    </>
  );
  return (
    <>
      <dt>total</dt>
      <dd>{row(shown.after[node], shown.before[node])}</dd>
      <dt>self</dt>
      <dd>{row(shown.selfAfter[node], shown.selfBefore[node])}</dd>
    </>
  );
}

function inWords({ after, before }: DiffTree, node: number): string {
  return `total ${percent(before[node])} before, ${percent(after[node])} after`;
}
