/** A progress bar. */
interface Props {
  /** The subject of the progress, for screen readers. */
  label: string;
  done: number;
  of: number;
}

export function Meter({ label, done, of }: Props) {
  const share = of > 0 ? Math.min(1, done / of) : 0;
  return (
    <span
      className="meter"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(share * 100)}
    >
      <i style={{ width: `${share * 100}%` }} />
    </span>
  );
}
