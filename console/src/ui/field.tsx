// A control with its label, its hint and what is wrong with it, tied together for screen readers.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export interface FieldProps {
  label: ComponentChildren;
  hint?: ComponentChildren;
  error?: string | null | undefined;
  class?: string;
  children: (ids: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean;
  }) => ComponentChildren;
}

export function Field({ label, hint, error, children, class: className = '' }: FieldProps) {
  const id = useId();
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : '']
    .filter(Boolean)
    .join(' ');
  return (
    <div class={`field ${className}`}>
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': Boolean(error) })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

export interface ChoiceProps<T extends string> {
  legend: string;
  value: T;
  options: readonly { value: T; label: string; hint?: string }[];
  onChange: (value: T) => void;
  hideLegend?: boolean;
}

// A few options side by side: radio buttons in the looks of one control.
export function Choice<T extends string>(props: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class={props.hideLegend ? 'visually-hidden' : ''}>{props.legend}</legend>
      <div class="choice-row">
        {props.options.map((option) => (
          <label key={option.value} title={option.hint}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === props.value}
              onChange={() => props.onChange(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
