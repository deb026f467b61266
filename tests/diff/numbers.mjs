// The canonical form of a DynamoDB number, written apart from the server's own so that each checks the other.

/** Plain decimal without exponent, superfluous zeros or sign of zero; undefined when the text is no number. */
export function canonicalNumber(text) {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (!match || (match[2] === '' && !match[3])) return undefined;
  const [, sign, whole, fraction = '', exponent = '0'] = match;
  let digits = whole + fraction;
  let point = whole.length + Number(exponent);
  if (/^0*$/.test(digits)) return '0';
  if (point < -200 || point > 200) return undefined;
  if (point <= 0) {
    digits = '0'.repeat(1 - point) + digits;
    point = 1;
  }
  digits = digits.padEnd(point, '0');
  const before = digits.slice(0, point).replace(/^0+(?=\d)/, '');
  const after = digits.slice(point).replace(/0+$/, '');
  return `${sign === '-' ? '-' : ''}${before}${after === '' ? '' : `.${after}`}`;
}
