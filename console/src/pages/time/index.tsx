// What changed in a table between two moments, and the way back.
import { useEffect, useState } from 'preact/hooks';
import { route, setQuery } from '../../app/router.ts';
import { serverNow } from '../../app/state.ts';
import {
  kWrongMoment,
  momentField,
  momentText,
  parseMoment,
  wrongMoment,
} from '../../model/past.ts';
import type { TableDescription } from '../../model/table.ts';
import { Field } from '../../ui/field.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { Difference } from './difference.tsx';
import { isKept, KeptWords, NotKept, useKept } from './kept.tsx';
import { Undo } from './undo.tsx';

// A moment that stands in the address, as the calls take it.
function momentIn(text: string | null): string | null {
  const at = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? null : momentText(at);
}

const fieldOf = (moment: string | null) => (moment === null ? '' : momentField(Date.parse(moment)));

const kQuick: readonly [string, number][] = [
  ['Last 5 min', 300_000],
  ['Last hour', 3_600_000],
  ['Last day', 86_400_000],
];

export default function Time({ table }: { table: TableDescription }) {
  const name = table.TableName;
  const kept = useKept(name);
  const { query } = route.value;
  const from = momentIn(query.get('from'));
  const to = momentIn(query.get('to'));
  const [fromText, setFromText] = useState(fieldOf(from));
  const [toText, setToText] = useState(fieldOf(to));
  const [tried, setTried] = useState(false);
  const [round, setRound] = useState(0);
  // The end that the server took where none was given.
  const [end, setEnd] = useState<string | null>(null);
  useEffect(() => {
    setFromText(fieldOf(from));
    setToText(fieldOf(to));
    setTried(false);
    setEnd(null);
  }, [from, to]);

  const now = serverNow();
  const known = kept.known ?? { earliest: null, latest: null };
  const open = toText.trim() === '' || toText.trim().toLowerCase() === 'now';
  const begins = parseMoment(fromText, now);
  const ends = open ? null : parseMoment(toText, now);
  const wrongFrom = fromText.trim() === '' ? kWrongMoment : wrongMoment(begins, known, now);
  const wrongTo = open
    ? null
    : (wrongMoment(ends, known, now) ??
      (ends !== null && begins !== null && ends < begins ? 'It is before the first one' : null));
  const show = () => {
    setTried(true);
    if (wrongFrom !== null || wrongTo !== null || begins === null) return;
    setRound(round + 1);
    setEnd(null);
    setQuery(
      { from: momentText(begins), to: ends === null ? undefined : momentText(ends) },
      from === null,
    );
  };
  const quick = (back: number) => {
    setRound(round + 1);
    setEnd(null);
    const least = Math.ceil((known.earliest ?? 0) / 1000) * 1000;
    setQuery(
      { from: momentText(Math.max(least, Math.floor(now) - back)), to: undefined },
      from === null,
    );
  };
  return (
    <>
      <section class="card" aria-labelledby="between">
        <header>
          <h2 id="between">Between two moments</h2>
        </header>
        <div class="card-body stack tight">
          <NotKept table={name} kept={kept} />
          {kept.error !== null && kept.known === null && <ErrorBox error={kept.error} />}
          {isKept(kept) && (
            <>
              <form
                class="row as-of-fields"
                onSubmit={(event) => {
                  event.preventDefault();
                  show();
                }}
              >
                <Field label="From (UTC)" error={tried ? wrongFrom : null}>
                  {(ids) => (
                    <input
                      {...ids}
                      placeholder="14:03 or 5 min ago"
                      autocomplete="off"
                      spellcheck={false}
                      value={fromText}
                      onInput={(event) => setFromText(event.currentTarget.value)}
                    />
                  )}
                </Field>
                <Field label="To (UTC)" error={tried ? wrongTo : null}>
                  {(ids) => (
                    <input
                      {...ids}
                      placeholder="now"
                      autocomplete="off"
                      spellcheck={false}
                      value={toText}
                      onInput={(event) => setToText(event.currentTarget.value)}
                    />
                  )}
                </Field>
                <button type="submit" class="primary">
                  Show the difference
                </button>
                {kQuick.map(([words, back]) => (
                  <button type="button" class="quiet small" key={words} onClick={() => quick(back)}>
                    {words}
                  </button>
                ))}
              </form>
              <p class="hint">
                <KeptWords known={kept.known} /> An item that changed and changed back does not
                differ.
              </p>
            </>
          )}
        </div>
      </section>
      {from !== null && isKept(kept) && (
        <>
          <Difference
            key={`${from} ${to} ${round}`}
            table={table}
            kept={kept}
            from={from}
            to={to}
            onEnd={setEnd}
          />
          {(to ?? end) !== null && (
            <Undo
              key={`undo ${from} ${to ?? end} ${round}`}
              table={table}
              kept={kept}
              from={from}
              to={(to ?? end) as string}
            />
          )}
        </>
      )}
    </>
  );
}
