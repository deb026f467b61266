// Equality as the server's `=` has it: numbers by value, sets without order, maps without order,
// types apart.
import { canonical } from './number.ts';
import { type AttributeValue, type Item, member } from './value.ts';

export function equal(a: AttributeValue | undefined, b: AttributeValue | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a === b) return true;
  if ('S' in a) return 'S' in b && a.S === b.S;
  if ('N' in a) return 'N' in b && canonical(a.N) === canonical(b.N);
  if ('B' in a) return 'B' in b && a.B === b.B;
  if ('BOOL' in a) return 'BOOL' in b && a.BOOL === b.BOOL;
  if ('NULL' in a) return 'NULL' in b;
  if ('M' in a) return 'M' in b && equalItems(a.M, b.M);
  if ('L' in a) {
    return (
      'L' in b && a.L.length === b.L.length && a.L.every((element, i) => equal(element, b.L[i]))
    );
  }
  if ('SS' in a) return 'SS' in b && sameSet(a.SS, b.SS);
  if ('NS' in a) return 'NS' in b && sameSet(a.NS.map(canonical), b.NS.map(canonical));
  return 'BS' in b && 'BS' in a && sameSet(a.BS, b.BS);
}

export function equalItems(a: Item, b: Item): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equal(member(a, name), member(b, name)))
  );
}

function sameSet(a: string[], b: string[]): boolean {
  const set = new Set(b);
  return new Set(a).size === set.size && a.every((one) => set.has(one));
}
