/** A choice among a few options, all visible. */
interface Props<T extends string> {
  label: string;
  value: T | null;
  options: readonly { value: T; text: string; title?: string }[];
  onChange: (value: T) => void;
}

export function Segments<T extends string>({ label, value, options, onChange }: Props<T>) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map((o) => (
        <button
          key={o.value}
          type="button"
          aria-pressed={o.value === value}
          title={o.title}
          onClick={() => onChange(o.value)}
        >
          {o.text}
        </button>
      ))}
    </div>
  );
}
