// DynamoDB's numbers as text: up to 38 significant digits, 1E-130 to 9.9E+125, sign, zero. Exact.

export const kMostDigits = 38;

export type NumberError = 'not a number' | 'too large' | 'too small' | 'more than 38 digits';

interface Parts {
  negative: boolean;
  digits: string; // without zeros at either end; empty: zero
  exponent: number; // the value is digits * 10^exponent
}

const kNumber = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

function partsOf(text: string): Parts | NumberError {
  const match = kNumber.exec(text);
  const whole = match?.[2] ?? '';
  const fraction = match?.[3] ?? '';
  if (!match || whole + fraction === '') return 'not a number';
  const all = whole + fraction;
  const leading = /^0*/.exec(all)?.[0].length ?? 0;
  const digits = all.slice(leading).replace(/0+$/, '');
  if (digits === '') return { negative: false, digits: '', exponent: 0 };
  const trailing = all.length - leading - digits.length;
  const exponent = Number(match[4] ?? '0') - fraction.length + trailing;
  // The place of the first digit decides about the range.
  const magnitude = exponent + digits.length - 1;
  if (magnitude > 125) return 'too large';
  if (magnitude < -130) return 'too small';
  if (digits.length > kMostDigits) return 'more than 38 digits';
  return { negative: match[1] === '-', digits, exponent };
}

// Returns the fault of the text; null if it has none.
export function numberError(text: string): NumberError | null {
  const parts = partsOf(text);
  return typeof parts === 'string' ? parts : null;
}

// The text as the server would answer it: plain decimal, no superfluous zeros. Text that is no
// number is returned as it is.
export function canonical(text: string): string {
  const parts = partsOf(text);
  if (typeof parts === 'string') return text;
  const { negative, digits, exponent } = parts;
  if (digits === '') return '0';
  let plain: string;
  if (exponent >= 0) {
    plain = digits + '0'.repeat(exponent);
  } else if (-exponent < digits.length) {
    plain = `${digits.slice(0, exponent)}.${digits.slice(exponent)}`;
  } else {
    plain = `0.${'0'.repeat(-exponent - digits.length)}${digits}`;
  }
  return (negative ? '-' : '') + plain;
}

export const sameNumber = (a: string, b: string): boolean => canonical(a) === canonical(b);

// Negative, 0 or positive, as the numbers order; texts that are no numbers order as text.
export function compareNumbers(a: string, b: string): number {
  const left = partsOf(a);
  const right = partsOf(b);
  if (typeof left === 'string' || typeof right === 'string') return a < b ? -1 : a > b ? 1 : 0;
  const sign = (parts: Parts) => (parts.digits === '' ? 0 : parts.negative ? -1 : 1);
  if (sign(left) !== sign(right)) return sign(left) - sign(right);
  if (sign(left) === 0) return 0;
  const magnitude = (parts: Parts) => parts.exponent + parts.digits.length;
  let order = magnitude(left) - magnitude(right);
  if (order === 0) {
    const length = Math.max(left.digits.length, right.digits.length);
    const l = left.digits.padEnd(length, '0');
    const r = right.digits.padEnd(length, '0');
    order = l < r ? -1 : l > r ? 1 : 0;
  }
  return order * sign(left);
}

// The number plus one, for version attributes; null for what is not a whole number of at most 37
// digits.
export function successor(text: string): string | null {
  const plain = canonical(text);
  if (!/^-?\d{1,37}$/.test(plain)) return null;
  return (BigInt(plain) + 1n).toString();
}

// Bytes by DynamoDB's rules.
export function numberBytes(text: string): number {
  const parts = partsOf(text);
  if (typeof parts === 'string') return text.length;
  const { negative, digits, exponent } = parts;
  if (digits === '') return 1;
  const fraction = exponent >= 0 ? 0 : Math.min(digits.length, -exponent);
  const whole = digits.length - fraction;
  return 1 + Math.ceil(whole / 2) + Math.ceil(fraction / 2) + (negative ? 1 : 0);
}
