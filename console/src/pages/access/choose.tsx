// A list to add from: what is chosen is added, and the list is ready for the next one.

interface Named {
  arn: string;
  name: string;
}

interface Props<Choice extends Named> {
  label: string;
  prompt: string;
  from: Choice[];
  // Why nothing may be added.
  why: string | undefined;
  onChosen: (chosen: Choice) => void;
}

export function Choose<Choice extends Named>({
  label,
  prompt,
  from,
  why,
  onChosen,
}: Props<Choice>) {
  if (from.length === 0) return null;
  return (
    <div class="row">
      <select
        aria-label={label}
        value=""
        disabled={why !== undefined}
        title={why}
        onChange={(event) => {
          const chosen = from.find((one) => one.arn === event.currentTarget.value);
          event.currentTarget.value = '';
          if (chosen) onChosen(chosen);
        }}
      >
        <option value="">{prompt}</option>
        {from.map((one) => (
          <option key={one.arn} value={one.arn}>
            {one.name}
          </option>
        ))}
      </select>
    </div>
  );
}
