/** A small line without axes, for rows of tables: from zero to the highest value, with gaps where there is none. */
interface Props {
  /** In order of time, equally spaced. */
  values: readonly (number | null)[];
  /** What it shows, for screen readers; empty: the numbers beside it say it. */
  label: string;
  width?: number;
  height?: number;
  /** The value at full height; default: the highest. */
  full?: number;
}

export function Sparkline({ values, label, width = 96, height = 20, full }: Props) {
  const hidden = label === '';
  return (
    <svg
      className="sparkline"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      {...(hidden ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      {runsOf(values, width, height, full).map((run, k) =>
        run.length === 1 ? (
          <circle key={k} cx={run[0].x} cy={run[0].y} r={1.5} fill="var(--accent)" />
        ) : (
          <polyline
            key={k}
            points={run.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')}
            fill="none"
            stroke="var(--accent)"
            strokeWidth={1.5}
            strokeLinejoin="round"
          />
        ),
      )}
    </svg>
  );
}

interface At {
  x: number;
  y: number;
}

const MARGIN = 2;

/** Points of the uninterrupted runs of values. */
export function runsOf(
  values: readonly (number | null)[],
  width: number,
  height: number,
  full?: number,
): At[][] {
  const most = full ?? Math.max(0, ...values.map((value) => value ?? 0));
  const room = { x: width - 2 * MARGIN, y: height - 2 * MARGIN };
  const runs: At[][] = [[]];
  values.forEach((value, k) => {
    if (value === null) {
      if (runs.at(-1)!.length > 0) runs.push([]);
      return;
    }
    const x = MARGIN + (values.length > 1 ? (room.x * k) / (values.length - 1) : room.x / 2);
    const share = most > 0 ? Math.min(1, Math.max(0, value / most)) : 0;
    runs.at(-1)!.push({ x, y: MARGIN + room.y * (1 - share) });
  });
  return runs.filter((run) => run.length > 0);
}
