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

export const PriceFields = ({ own, prices, set }: OwnPrices) => (
  <details>
    <summary class="small">Prices</summary>
    <p class="hint">
      Provisioned units and storage begin with the prices of the guidance’s examples. Enter those of
      your Region; this browser keeps them.
    </p>
    <div class="fields prices">
      {kKinds.map((kind) => (
        <Field key={kind} label={kWords[kind]}>
          {(ids) => (
            <input
              {...ids}
              class="short"
              inputMode="decimal"
              placeholder={kind.startsWith('million') ? 'not known' : undefined}
              value={own[kind] ?? prices[kind] ?? ''}
              onChange={(event) => set(kind, event.currentTarget.value)}
            />
          )}
        </Field>
      ))}
    </div>
  </details>
);
