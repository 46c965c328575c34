import { useMemo } from 'react';
import type { FlameAnswer } from '../flame/decode.ts';
import type { FlameSummary } from '../api/types.ts';
import { frameScale } from '../estimates/flame.ts';
import { groundOf } from '../estimates/measure.ts';
import type { ColourBy } from '../flame/colouring.ts';
import { COLOURS } from '../app/pages.ts';
import { findNode } from '../flame/identity.ts';
import { DARK, LIGHT } from '../flame/palette.ts';
import { reaches, type Union } from '../flame/union.ts';
import type { ExploreGo as Go } from '../app/usePlace.ts';
import { count, coverage, percent } from '../selection/numbers.ts';
import type { ExplorePlace as Place } from '../app/pages.ts';
import { Segments } from '../ui/Segments.tsx';
import { Answered, type Query } from '../ui/states/Answered.tsx';
import { FlameSkeleton } from '../ui/states/Skeleton.tsx';
import { FlameView } from './FlameView.tsx';
import { Legend } from './Legend.tsx';
import { useColouring } from './useColouring.ts';

const DIRECTIONS = [
  { value: 'down', text: 'Icicle', title: 'callers above their callees ( i )' },
  { value: 'up', text: 'Flame', title: 'callers below their callees ( i )' },
] as const;

const COLOUR_WORDS: Record<ColourBy, string> = {
  package: 'package',
  application: 'application',
  kind: 'kernel, library, program, Python',
  self: 'self time',
};

/** The part of a query (`useFlameTree`) that the panel reads. */
interface FlameQuery extends Query<FlameAnswer<FlameSummary>> {
  /**
   * Lighter frames are still being requested: a frame that is missing may come with them. Undefined if the query has
   * one answer only, without refinement.
   */
  refining?: boolean;
}

interface Props {
  place: Place;
  go: Go;
  flame: FlameQuery;
  /** Frames highlighted by the find field or the table. */
  union: Union | null;
  dark: boolean;
  /** Price of one core-hour. */
  price: number | null;
  /** Opens the callers and callees of a function, if the page can show them. */
  onFunction?: (id: number) => void;
}

export function FlamePanel({ flame, ...rest }: Props) {
  const { place, go } = rest;
  return (
    <section className="panel flame" aria-label="flame graph">
      <Answered query={flame} skeleton={<FlameSkeleton />} what="the flame graph" shown={{ place, go }}>
        {(answer) => <Graph answer={answer} refining={flame.refining} {...rest} />}
      </Answered>
    </section>
  );
}

function Graph({
  answer,
  refining,
  place,
  go,
  union,
  dark,
  price,
  onFunction,
}: Omit<Props, 'flame'> & { answer: FlameAnswer<FlameSummary>; refining: boolean | undefined }) {
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
  const colours = useColouring(tree, place.colour);
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
        <label className="colour-by">
          colour by{' '}
          <select
            value={place.colour}
            // By application is another tree, without the frame that is zoomed to.
            onChange={(e) => go({ colour: e.target.value as ColourBy, node: '' })}
          >
            {COLOURS.map((by) => (
              <option key={by} value={by}>
                {COLOUR_WORDS[by]}
              </option>
            ))}
          </select>
        </label>
        {found < 0 && refining && (
          <span className="note" role="status">
            Looking for the frame of this link …
          </span>
        )}
        {found < 0 && !refining && (
          <span className="note warn">The frame of this link is not in this selection.</span>
        )}
        {outside && (
          <span className="note warn" role="status">
            No match below this frame.
          </span>
        )}
        <span className="spacer" />
        <Legend entries={colours.legend} palette={dark ? DARK : LIGHT} />
      </div>
      <FlameView
        tree={tree}
        zoom={Math.max(0, found)}
        scale={scale}
        colouring={colours}
        union={union}
        upward={place.direction === 'up'}
        dark={dark}
        place={place}
        go={go}
        onFunction={onFunction}
      />
      <p className="bar-bottom note">
        <span>{count(tree.n - 1)} frames</span>
        {random && covered < 0.9995 && (
          <span> · estimates for the {coverage(covered)} of the range with data</span>
        )}
        {head.pruned.nodes > 0 && refining !== undefined && (
          <span> · {count(head.pruned.nodes)} more, too thin to see, are loaded when you zoom in</span>
        )}
        {head.pruned.nodes > 0 && refining === undefined && (
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
