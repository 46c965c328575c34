/** A placeholder in the shape of the content, until the first response. */

const NAME_WIDTHS = [62, 48, 71, 55, 40, 66, 52, 45, 60, 38, 57, 49];

export function TableSkeleton() {
  return (
    <div className="skeleton" role="status" aria-label="loading the table">
      {NAME_WIDTHS.map((width, k) => (
        <div key={k} className="line">
          <span className="bone" style={{ width: `${width}%` }} />
          <span className="bone" />
          <span className="bone" />
        </div>
      ))}
    </div>
  );
}

const FLAME_WIDTHS = [[100], [100], [58, 30], [41, 16, 28], [30, 9, 14, 20], [22, 7, 12], [12, 9]];

export function FlameSkeleton() {
  return (
    <div className="skeleton flame" role="status" aria-label="loading the flame graph">
      {FLAME_WIDTHS.map((row, k) => (
        <div key={k} className="boxes">
          {row.map((width, j) => (
            <span key={j} className="bone" style={{ width: `${width}%` }} />
          ))}
        </div>
      ))}
    </div>
  );
}
