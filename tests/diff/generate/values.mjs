// Attribute values and items. Alphabets are small, so that keys collide, values are equal and sets overlap often.

const STRINGS = ['a', 'b', 'c', 'ab', 'abc', 'b', 'ba', 'z', 'A', '10', '9', '', ' ', 'é', 'ß', '\u{1F600}', 'a"b'];
const BYTES = ['', 'a', 'b', 'ab', 'abc', '\x00', '\x7f', '\xff', 'a\x00', '\xffa'];
const NUMBERS = ['0', '1', '2', '3', '10', '-1', '-2', '1.5', '0.5', '100', '3.14', '-0.5', '7'];
const THIRTY_EIGHT = '12345678901234567890123456789012345678';
const ODD_NUMBERS = ['1e2', '+5', '.5', '-0', '5.', '1.50', '0010', '1E+2', '1e-2', '0.0', '-1e1', '1.5E2', THIRTY_EIGHT,
  `-${THIRTY_EIGHT}`, `0.${THIRTY_EIGHT}`, `${THIRTY_EIGHT}000`, '9.9999999999999999999999999999999999999E+125', '1E125',
  '1E-130', '-1E-130', '-9.9999999999999999999999999999999999999E+125', '1e38', '1e-38', '0e5', '0.0e126', '10e124'];
const BAD_NUMBERS = ['', 'abc', '1e126', '1e-131', `${THIRTY_EIGHT}9`, `1.${THIRTY_EIGHT}`, ' 1', '1 ', 'NaN', 'Infinity', '0x10',
  '1e', 'e1', '--1', '+-1', '1,5', '.', '-', '0e126', '1e999999999999', '1_0', '-1E126', '10e125', '1.2.3', '١'];

/** Attribute names with the type that most items give them, so that most expressions meet what they expect. */
export const ATTRIBUTES = {
  s: 'S', t: 'S', n: 'N', m: 'N', b: 'B', flag: 'BOOL', nul: 'NULL', l: 'L', q: 'L', o: 'M', w: 'M',
  ss: 'SS', ns: 'NS', bs: 'BS', name: 'S', 'a.b': 'S', 'x y': 'N', _u: 'S', '1st': 'N',
};
export const ATTRIBUTE_NAMES = Object.keys(ATTRIBUTES);
export const MEMBER_NAMES = ['a', 'b', 'c', 'n', 'size'];
export const TYPES = ['S', 'N', 'B', 'BOOL', 'NULL', 'L', 'M', 'SS', 'NS', 'BS'];

const base64 = (bytes) => Buffer.from(bytes, 'latin1').toString('base64');

export function number(random) {
  return random.chance(0.15) ? random.pick(ODD_NUMBERS) : random.pick(NUMBERS);
}

export function badNumber(random) {
  return random.pick(BAD_NUMBERS);
}

/** A map of the shape that NESTED_PATHS lead into. */
function shaped(random) {
  return { M: { a: valueOf(random, 'N'), b: { M: { c: valueOf(random, 'S'), n: valueOf(random, 'NS') } }, c: { L: [valueOf(random, 'N'), valueOf(random, 'S')] } } };
}

/** Paths that most values of `o`, `w`, `l` and `q` have, with the type that is found there (none: there is nothing). */
export const NESTED_PATHS = {
  M: [[['.', 'a'], 'N'], [['.', 'b'], 'M'], [['.', 'b', '.', 'c'], 'S'], [['.', 'b', '.', 'n'], 'NS'], [['.', 'c'], 'L'], [['.', 'c', '[', '0', ']'], 'N'],
    [['.', 'c', '[', '9', ']'], 'S'], [['.', 'n'], 'N'], [['.', 'b', '.', 'a'], 'S']],
  L: [[['[', '0', ']'], 'N'], [['[', '1', ']'], 'S'], [['[', '2', ']'], 'M'], [['[', '2', ']', '.', 'a'], 'N'], [['[', '9', ']'], 'S'], [['[', '3', ']'], 'N']],
};

/** A valid value of the given type; `depth` bounds nesting. */
export function valueOf(random, type, depth = 2) {
  switch (type) {
    case 'S': return { S: random.chance(0.02) ? 'x'.repeat(random.pick([1000, 2000, 5000])) : random.pick(STRINGS) };
    case 'N': return { N: number(random) };
    case 'B': return { B: base64(random.pick(BYTES)) };
    case 'BOOL': return { BOOL: random.chance(0.5) };
    case 'NULL': return { NULL: true };
    case 'SS': return { SS: random.sample([...new Set(STRINGS)], random.between(1, 4)) };
    case 'NS': return { NS: random.sample(NUMBERS, random.between(1, 4)) };
    case 'BS': return { BS: random.sample(BYTES, random.between(1, 3)).map(base64) };
    case 'L':
      if (depth > 1 && random.chance(0.6)) return { L: [valueOf(random, 'N'), valueOf(random, 'S'), shaped(random)] };
      return { L: Array.from({ length: random.between(0, 4) }, () => value(random, depth - 1)) };
    case 'M': {
      if (depth > 1 && random.chance(0.6)) return shaped(random);
      const map = {};
      for (const key of random.sample(MEMBER_NAMES, random.between(0, 3))) map[key] = value(random, depth - 1);
      return { M: map };
    }
    default: throw new Error(`no such type: ${type}`);
  }
}

/** A valid value of any of the ten types. */
export function value(random, depth = 2) {
  const types = depth > 0 ? TYPES : TYPES.filter((type) => type !== 'L' && type !== 'M');
  return valueOf(random, random.chance(0.5) ? random.pick(['S', 'N']) : random.pick(types), depth);
}

/** A list or map of exactly `levels` levels around a string. */
export function nested(random, levels) {
  let inner = { S: 'deep' };
  for (let level = 0; level < levels; level++) inner = random.chance(0.5) ? { L: [inner] } : { M: { a: inner } };
  return inner;
}

/** A value that breaks one rule of its type, or of the JSON form. */
export function badValue(random) {
  return random.weighted([
    [4, () => ({ N: badNumber(random) })],
    [1, () => ({ NS: [number(random), badNumber(random)] })],
    [1, {}],
    [1, { S: 'a', N: '1' }],
    [1, { NULL: false }],
    [1, { SS: [] }], [1, { NS: [] }], [1, { BS: [] }],
    [1, { SS: ['a', 'b', 'a'] }], [1, { NS: ['1', '2', '1.0'] }], [1, { BS: ['YQ==', 'YQ=='] }],
    [1, { Q: 'a' }],
    [1, { S: 5 }], [1, { N: 5 }], [1, { BOOL: 'perhaps' }], [1, { L: {} }], [1, { M: [] }], [1, { SS: 'a' }],
    [1, { B: 'not base64!' }], [1, { B: 'YQ=' }],
    [1, { L: [{ S: 'a' }, {}] }], [1, { M: { a: { N: 'x' } } }],
    [1, 'text'], [1, 7], [1, null], [1, []],
    [1, () => nested(random, random.between(30, 34))],
  ]);
}

const KEY_VALUES = {
  S: ['a', 'b', 'c', 'ab', 'é'],
  N: ['0', '1', '2', '10', '-1', '1.5', '1e1', '9'],
  B: ['a', 'b', 'ab', '\xff', '\x00'].map(base64),
};

export function keyValue(random, type) {
  return { [type]: random.pick(KEY_VALUES[type]) };
}

/** A key value that the service refuses: wrong type, empty, too long. */
export function badKeyValue(random, type) {
  const other = TYPES.filter((candidate) => candidate !== type);
  return random.weighted([
    [3, () => valueOf(random, random.pick(other), 0)],
    [1, type === 'N' ? { N: '' } : { [type]: '' }],
    [1, () => (type === 'B' ? { B: base64('k'.repeat(random.pick([1024, 1025, 2048, 2049]))) }
      : { S: 'k'.repeat(random.pick([1024, 1025, 2048, 2049])) })],
    [1, {}],
    [1, { N: '1e126' }],
  ]);
}

/** The primary key of some item of `table`. */
export function key(random, table) {
  const result = { [table.hash.name]: keyValue(random, table.hash.type) };
  if (table.range) result[table.range.name] = keyValue(random, table.range.type);
  return result;
}

/** A key that breaks the table's schema. */
export function badKey(random, table) {
  const result = key(random, table);
  const names = Object.keys(result);
  return random.weighted([
    [2, () => { delete result[random.pick(names)]; return result; }],
    [2, () => ({ ...result, extra: { S: 'a' } })],
    [3, () => {
      const name = random.pick(names);
      const { type } = name === table.hash.name ? table.hash : table.range;
      result[name] = badKeyValue(random, type);
      return result;
    }],
    [1, {}],
  ]);
}

/** A valid item of `table` with up to eight further attributes. */
export function item(random, table) {
  const result = key(random, table);
  const names = [...random.sample(ATTRIBUTE_NAMES, random.between(0, 8)), ...(random.chance(0.6) ? ['o', 'l'] : [])];
  for (const name of names) {
    result[name] = random.chance(0.85) ? valueOf(random, ATTRIBUTES[name]) : value(random);
  }
  return result;
}
