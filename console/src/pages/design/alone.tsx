// The designed capacity is one call; the designed keys are for the program: what the call does by
// itself, and the code of the rest.
import { useEffect, useState } from 'preact/hooks';
import {
  asksMore,
  capacityAlone,
  type Design,
  type Outcome,
  partsOf,
  scenarioOf,
  spreadsOf,
  suffixCode,
} from '../../model/scenario.ts';
import { CodeText } from '../../ui/code.tsx';

interface Props {
  // What the table does now, and what was designed from it.
  was: Design;
  design: Design;
  // The name of the partition key.
  attribute: string;
  play: (scenario: string, signal: AbortSignal) => Promise<Outcome>;
}

export function CapacityAlone({ was, design, attribute, play }: Props) {
  const [alone, setAlone] = useState<string | null | undefined>(undefined);
  const more = asksMore(was, design);
  useEffect(() => {
    if (!more) return;
    const abort = new AbortController();
    const wanted = { ...capacityAlone(was, design), minutes: design.minutes };
    play(scenarioOf(wanted).toml, abort.signal).then(
      (outcome) => setAlone(partsOf(outcome).served),
      () => !abort.signal.aborted && setAlone(null),
    );
    return () => abort.abort();
  }, []);
  if (!more) return null;
  const spreads = spreadsOf(design);
  return (
    <div class="note warn stack tight" role="status">
      <p>
        <strong>
          {alone === undefined
            ? 'Computing what this alone serves…'
            : alone === null
              ? 'This alone does not do what was designed.'
              : `This alone serves ${alone}.`}
        </strong>{' '}
        It changes the units of the table only.{' '}
        {spreads.length === 0 && 'The rest of the design is for your program and the indexes.'}
      </p>
      {spreads.map((one) => (
        <div key={`${one.operation} ${one.name}`} class="stack tight">
          <p>
            Your program must also {one.operation}{' '}
            {one.key === null ? (
              `each key of ${one.name} with a suffix from .1 to .${one.suffixes}`
            ) : (
              <>
                <code class="key">{one.key}.1</code> … <code class="key">.{one.suffixes}</code>{' '}
                instead of <code class="key">{one.key}</code>
              </>
            )}
            :
          </p>
          <CodeText text={suffixCode(one, attribute)} label="JavaScript" />
        </div>
      ))}
    </div>
  );
}
