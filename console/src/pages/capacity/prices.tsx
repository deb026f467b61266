// Prices that the user enters: this browser keeps them for every page that tells what a month costs.
import { useState } from 'preact/hooks';
import { pricesNow } from '../../app/prices.ts';
import { store, stored } from '../../app/settings.ts';
import type { Prices } from '../../model/cost.ts';
import { Field } from '../../ui/field.tsx';

const kKinds = ['readUnit', 'writeUnit', 'millionReads', 'millionWrites', 'gigabyte'] as const;
type Kind = (typeof kKinds)[number];
const kWords: Record<Kind, string> = {
  readUnit: 'A read unit, a month',
  writeUnit: 'A write unit, a month',
  millionReads: 'A million reads on demand',
  millionWrites: 'A million writes on demand',
  gigabyte: 'A gigabyte, a month',
};

export type Own = Record<string, number>;

export interface OwnPrices {
  own: Own;
  prices: Prices;
  set: (kind: string, text: string) => void;
}

export function usePrices(): OwnPrices {
  const [own, setOwn] = useState(() => stored<Own>('prices', {}));
  const set = (kind: string, text: string) => {
    const next = { ...own };
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value) || value < 0) delete next[kind];
    else next[kind] = value;
    setOwn(next);
    store('prices', next);
  };
  return { own, prices: pricesNow(own), set };
}

// What a sum lacks, in one sentence that leads to the fields; nothing if it lacks nothing.
export function MissingPrices({ prices, of }: { prices: Prices; of: string }) {
  const missing = (['millionReads', 'millionWrites'] as const).filter(
    (kind) => prices[kind] === null,
  );
  const first = missing[0];
  if (first === undefined) return null;
  const enter = () => {
    const details = document.getElementById(kFieldsId) as HTMLDetailsElement | null;
    if (!details) return;
    details.open = true;
    details.querySelector<HTMLInputElement>(`[data-price=${first}]`)?.focus();
  };
  return (
    <p class="hint">
      {of} cannot be told in dollars: the price of{' '}
      {missing.length === 2
        ? 'a million reads and of a million writes'
        : kWords[first].replace(/^A (.*) on demand$/, 'a $1')}{' '}
      in your Region is not known here.{' '}
      <button type="button" class="link" onClick={enter}>
        Enter prices
      </button>
    </p>
  );
}

const kFieldsId = 'price-fields';

// A field that holds its own text while somebody types: the page around it draws itself anew
// whenever an outcome comes, and would put the stored price back.
function PriceField({ kind, own, prices, set }: OwnPrices & { kind: Kind }) {
  const [draft, setDraft] = useState<string | null>(null);
  const stored = String(own[kind] ?? prices[kind] ?? '');
  const commit = () => {
    if (draft !== null && draft !== stored) set(kind, draft);
    setDraft(null);
  };
  return (
    <Field label={kWords[kind]}>
      {(ids) => (
        <input
          {...ids}
          class="short"
          data-price={kind}
          inputMode="decimal"
          placeholder={kind.startsWith('million') ? 'not known' : undefined}
          value={draft ?? stored}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onBlur={commit}
          onKeyDown={(event) => {
            if (event.key === 'Enter') commit();
          }}
        />
      )}
    </Field>
  );
}

export const PriceFields = ({ own, prices, set }: OwnPrices) => (
  <details id={kFieldsId}>
    <summary class="small">Prices</summary>
    <p class="hint">
      Units and storage begin with the prices of the examples in AWS’s guidance, which are not those
      of every Region; on demand begins with none. What you enter is kept by this browser.
    </p>
    <div class="fields prices">
      {kKinds.map((kind) => (
        <PriceField key={kind} kind={kind} own={own} prices={prices} set={set} />
      ))}
    </div>
  </details>
);
