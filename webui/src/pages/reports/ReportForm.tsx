/** The parameters of a report as fields. A changed field becomes a part of the URL. */
import { useId, useState, type KeyboardEvent } from 'react';
import type { Field, Known } from './report.ts';

interface Props {
  fields: readonly Field[];
  /** The values in the URL. */
  place: Readonly<Record<string, unknown>>;
  /** The values that are sent: an empty field may have one. */
  used: Readonly<Record<string, string>>;
  known: Known;
  go: (change: Record<string, string>) => void;
}

export function ReportForm(props: Props) {
  const { fields, place } = props;
  const advanced = fields.filter((field) => field.advanced);
  if (fields.length === 0) return null;
  return (
    <form className="report-form" aria-label="parameters" onSubmit={(event) => event.preventDefault()}>
      <Fields {...props} fields={fields.filter((field) => !field.advanced)} />
      {advanced.length > 0 && (
        <details open={advanced.some(({ name, initial }) => place[name] !== initial)}>
          <summary>More parameters</summary>
          <Fields {...props} fields={advanced} />
        </details>
      )}
    </form>
  );
}

function Fields({ fields, place, used, known, go }: Props) {
  return (
    <div className="report-fields">
      {fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          value={String(place[field.name] ?? '')}
          used={used[field.name] ?? ''}
          options={field.suggest ? known[field.suggest] : []}
          onChange={(value) => go({ [field.name]: value })}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  field: Field;
  value: string;
  used: string;
  options: readonly string[];
  onChange: (value: string) => void;
}

function OneField({ field, value, used, options, onChange }: FieldProps) {
  const id = useId();
  if (field.choices !== undefined)
    return (
      <label className="report-field" title={field.help}>
        <span>{field.label}</span>
        <select value={value} onChange={(event) => onChange(event.target.value)}>
          {field.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.text}
            </option>
          ))}
          {!field.choices.some((choice) => choice.value === value) && <option value={value}>{value}</option>}
        </select>
      </label>
    );
  return (
    <label className={field.wide ? 'report-field wide' : 'report-field'} title={field.help}>
      <span>{field.label}</span>
      {/* A new value from the URL replaces what is typed. */}
      <TextInput key={value} id={id} value={value} used={used} options={options} onChange={onChange} />
      <small id={`${id}-help`}>{field.help}</small>
    </label>
  );
}

interface TextProps extends Omit<FieldProps, 'field'> {
  id: string;
}

function TextInput({ id, value, used, options, onChange }: TextProps) {
  const [typed, setTyped] = useState(value);
  const apply = (): void => {
    if (typed.trim() !== value) onChange(typed.trim());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') apply();
    else if (event.key === 'Escape') setTyped(value);
  };
  return (
    <>
      <input
        type="text"
        value={typed}
        placeholder={/[^,]/.test(used) ? used : ''}
        spellCheck={false}
        autoComplete="off"
        list={options.length > 0 ? `${id}-options` : undefined}
        aria-describedby={`${id}-help`}
        onChange={(event) => {
          setTyped(event.target.value);
          // Chosen from the list, not typed.
          if (options.includes(event.target.value)) onChange(event.target.value);
        }}
        onBlur={apply}
        onKeyDown={onKeyDown}
      />
      {options.length > 0 && (
        <datalist id={`${id}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </>
  );
}
