// Sizes of items by DynamoDB's rules, for attributes of type S, N and B in the form that the wire has.

const sizeOfNumber = (text) => {
  if (text === '0') return 1;
  const digits = text.replace('-', '').replace(/0+$/, '').length;
  return 1 + Math.ceil(digits / 2) + (text.startsWith('-') ? 1 : 0);
};

function sizeOfValue({ S, N, B }) {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return sizeOfNumber(N);
  return Buffer.from(B, 'base64').length;
}

/** Bytes of an item of short whole numbers, strings and binaries. */
export const sizeOf = (item) =>
  Object.entries(item).reduce((sum, [name, value]) => sum + name.length + sizeOfValue(value), 0);
