import { useMemo } from 'react';
import type { FlameAnswer } from '../flame/decode.ts';
import type { useFlame } from '../pages/explore/queries.ts';
import type { FlameSummary } from '../api/types.ts';
import { frameScale } from '../estimates/flame.ts';
import { groundOf } from '../estimates/measure.ts';
import { findNode } from '../flame/identity.ts';
import { reaches, type Union } from '../flame/union.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import { count, coverage, percent } from '../selection/numbers.ts';
import type { ExplorePlace as Place } from '../app/pages.ts';
import { Segments } from '../ui/Segments.tsx';
import { Failure } from '../ui/states/Failure.tsx';
import { FlameSkeleton } from '../ui/states/Skeleton.tsx';
import { FlameView } from './FlameView.tsx';
import { Legend } from './Legend.tsx';

const DIRECTIONS = [
  { value: 'down', text: 'Icicle', title: 'callers above their callees ( i )' },
  { value: 'up', text: 'Flame', title: 'callers below their callees ( i )' },
] as const;

interface Props {
  place: Place;
  go: Go;
  flame: ReturnType<typeof useFlame>;
  /** Frames highlighted by the find field or the marked row. */
  union: Union | null;
  dark: boolean;
  /** Price of one core-hour. */
  price: number | null;
}

export function FlamePanel({ place, go, flame, union, dark, price }: Props) {
  return (
    <section className="panel flame" aria-label="flame graph">
      {flame.data ? (
        <Graph answer={flame.data} place={place} go={go} union={union} dark={dark} price={price} />
      ) : flame.error ? (
        <Failure error={flame.error} retry={() => void flame.refetch()} place={place} go={go} />
      ) : (
        <FlameSkeleton />
      )}
    </section>
  );
}

function Graph({
  answer,
  place,
  go,
  union,
  dark,
  price,
}: Omit<Props, 'flame'> & { answer: FlameAnswer<FlameSummary> }) {
  const { tree, head } = answer;
  const scale = useMemo(
    () =>
      frameScale(
        tree,
        head.totals.kept,
        head.selection.unit,
        place.measure,
        groundOf(head.totals, head.selection.select, price),
      ),
    [tree, head, place.measure, price],
  );
  const found = useMemo(() => findNode(tree, place.node), [tree, place.node]);
  const outside = union !== null && union.nodes.length > 0 && found > 0 && !reaches(union, tree, found);
  const { design, selected_seconds, covered_seconds } = head.totals;
  const random = design === 'random';
  const covered = selected_seconds > 0 ? covered_seconds / selected_seconds : 1;
  return (
    <>
      <div className="bar-top">
        <Segments
          label="direction"
          value={place.direction}
          options={DIRECTIONS}
          onChange={(direction) => go({ direction }, 'replace')}
        />
        <button
          type="button"
          disabled={place.node === ''}
          onClick={() => go({ node: '' })}
          title="back to all stacks ( Esc )"
        >
          Reset zoom
        </button>
        {found < 0 && <span className="note warn">The frame of this link is not in this selection.</span>}
        {outside && (
          <span className="note warn" role="status">
            No match below this frame.
          </span>
        )}
        <span className="spacer" />
        <Legend tree={tree} dark={dark} />
      </div>
      <FlameView
        tree={tree}
        zoom={Math.max(0, found)}
        scale={scale}
        union={union}
        upward={place.direction === 'up'}
        dark={dark}
        place={place}
        go={go}
      />
      <p className="bar-bottom note">
        <span>{count(tree.n - 1)} frames</span>
        {random && covered < 0.9995 && (
          <span> · estimates for the {coverage(covered)} of the range with data</span>
        )}
        {head.pruned.nodes > 0 && (
          <span title="The table includes them.">
            {' '}
            · {count(head.pruned.nodes)} lighter frames are omitted: {percent(head.pruned.share)} of the time
            ends in them and is attributed to their callers
          </span>
        )}
      </p>
    </>
  );
}
