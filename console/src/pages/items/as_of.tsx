// Which moment the items are read as of: typed, relative, or chosen from what is kept.
import { useEffect, useRef, useState } from 'preact/hooks';
import { serverNow } from '../../app/state.ts';
import { momentField, parseMoment, wrongMoment } from '../../model/past.ts';
import type { TableDescription } from '../../model/table.ts';
import { Field } from '../../ui/field.tsx';
import { relative } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { isKept, KeptWords, NotKept, useKept } from '../time/kept.tsx';

export interface AsOfProps {
  table: TableDescription;
  // null: no moment was chosen yet.
  at: number | null;
  onChange: (at: number) => void;
  // Back to the present.
  onClose: () => void;
}

const kQuick: readonly [string, number][] = [
  ['1 min ago', 60_000],
  ['5 min ago', 300_000],
  ['1 h ago', 3_600_000],
  ['1 day ago', 86_400_000],
];
const kStep = 1000;

export function AsOf({ table, at, onChange, onClose }: AsOfProps) {
  const name = table.TableName;
  const kept = useKept(name);
  const [text, setText] = useState(at === null ? '' : momentField(at));
  const [tried, setTried] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (at === null) input.current?.focus();
    else setText(momentField(at));
    setTried(false);
  }, [at]);
  const now = serverNow();
  const earliest = kept.known?.earliest ?? null;
  const latest = kept.known?.latest ?? null;
  const wanted = parseMoment(text, now);
  const wrong = wrongMoment(wanted, { earliest, latest }, now);
  const go = () => {
    setTried(true);
    if (wrong === null && wanted !== null) onChange(wanted);
  };
  const choose = (moment: number) => {
    setText(momentField(moment));
    onChange(moment);
  };
  const first = earliest === null ? 0 : Math.ceil(earliest / kStep) * kStep;
  const last = latest === null ? 0 : Math.floor(latest / kStep) * kStep;
  const shown = Math.min(last, Math.max(first, wanted ?? last));
  return (
    <section class={`card as-of ${at === null ? '' : 'is-past'}`} aria-labelledby="as-of">
      <header>
        <Icon name="clock" />
        <h2 id="as-of" aria-live="polite">
          {at === null ? 'Read as of a moment' : `${name} as it was ${momentField(at)} UTC`}
        </h2>
        <button type="button" class={at === null ? 'quiet' : 'primary'} onClick={onClose}>
          {at === null ? 'Close' : 'Back to now'}
        </button>
      </header>
      <div class="card-body stack tight">
        {at !== null && (
          <p>
            This is the past, {relative(at, now)}: it can be read and exported. To change items, go
            back to now.
          </p>
        )}
        <NotKept table={name} kept={kept} />
        {(at !== null || isKept(kept)) && (
          <>
            <form
              class="row as-of-fields"
              onSubmit={(event) => {
                event.preventDefault();
                go();
              }}
            >
              <Field label="Moment (UTC)" error={tried ? wrong : null}>
                {(ids) => (
                  <input
                    {...ids}
                    ref={input}
                    placeholder="14:03 or 5 min ago"
                    autocomplete="off"
                    spellcheck={false}
                    value={text}
                    onInput={(event) => setText(event.currentTarget.value)}
                  />
                )}
              </Field>
              <button type="submit">Read</button>
              {kQuick
                .filter(([, back]) => earliest !== null && now - back >= earliest)
                .map(([words, back]) => (
                  <button
                    type="button"
                    class="quiet small"
                    key={words}
                    onClick={() => choose(Math.floor(now) - back)}
                  >
                    {words}
                  </button>
                ))}
            </form>
            {latest !== null && last > first && (
              <input
                type="range"
                class="as-of-slider"
                aria-label="Moment"
                aria-valuetext={`${momentField(shown)} UTC`}
                min={first}
                max={last}
                step={kStep}
                value={shown}
                onInput={(event) => setText(momentField(Number(event.currentTarget.value)))}
                onChange={(event) => choose(Number(event.currentTarget.value))}
              />
            )}
            <p class="hint">
              <KeptWords known={kept.known} />
            </p>
          </>
        )}
      </div>
    </section>
  );
}
