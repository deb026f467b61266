// What capacity, requests and storage cost: what the user entered, else what the server knows.
import type { Prices } from '../model/cost.ts';
import { stored } from './settings.ts';
import { boot } from './state.ts';

export function pricesNow(own = stored<Record<string, number>>('prices', {})): Prices {
  const known = boot.value?.prices ?? {};
  const of = (kind: string, otherwise: number): number => own[kind] ?? known[kind] ?? otherwise;
  return {
    readUnit: of('readUnit', 0),
    writeUnit: of('writeUnit', 0),
    gigabyte: of('gigabyte', 0),
    reservedDiscount: of('reservedDiscount', 0),
    millionReads: own.millionReads ?? null,
    millionWrites: own.millionWrites ?? null,
  };
}
