// Generators of PartiQL statements: single ones, batches and transactions.
import { ATTRIBUTES, ATTRIBUTE_NAMES, badKeyValue, badValue, item, valueOf } from './values.mjs';

const KEYWORDS = ['date', 'count', 'value', 'order', 'missing', 'select', 'level', 'size'];
const FUNCTIONS = ['begins_with', 'contains', 'attribute_type', 'attribute_exists', 'attribute_not_exists', 'size'];

const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
const isBare = (name) => /^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.includes(name.toLowerCase());

/** Writes one statement: text and the parameters of its question marks. */
class Statement {
  parameters = [];

  constructor(random, table) {
    this.random = random;
    this.table = table;
  }

  name(name) {
    return isBare(name) && this.random.chance(0.6) ? name : quoted(name);
  }

  path() {
    const { random } = this;
    const name = random.pick(ATTRIBUTE_NAMES);
    let text = this.name(name);
    const type = ATTRIBUTES[name];
    if (type === 'M' && random.chance(0.6)) text += random.pick(['.a', '.b', '.b.c', '.c[0]', "['a']", '.n']);
    if (type === 'L' && random.chance(0.6)) text += random.pick(['[0]', '[1]', '[2].a', '[9]']);
    return { text, type };
  }

  /** The value as a literal; undefined for what has none, wrong values among them. */
  literal(value) {
    try {
      return this.#literal(Object.entries(value));
    } catch {
      return undefined;
    }
  }

  #literal([[type, content], ...more]) {
    if (more.length > 0) return undefined;
    switch (type) {
      case 'S': return `'${content.replaceAll("'", "''")}'`;
      case 'N': return /^[-+]?\d+(\.\d*)?(e[-+]?\d+)?$/i.test(content) ? content : undefined;
      case 'BOOL': return this.random.pick([String(content), String(content).toUpperCase()]);
      case 'NULL': return 'null';
      case 'L': {
        const elements = content.map((element) => this.literal(element));
        return elements.includes(undefined) ? undefined : `[${elements.join(', ')}]`;
      }
      case 'M': {
        const members = Object.entries(content).map(([name, member]) => [name, this.literal(member)]);
        return members.some(([, text]) => text === undefined) ? undefined : `{${members.map(([name, text]) => `'${name}': ${text}`).join(', ')}}`;
      }
      case 'SS': return content.length === 0 ? undefined : `<<${content.map((element) => `'${element.replaceAll("'", "''")}'`).join(', ')}>>`;
      case 'NS': return content.every((digits) => /^[-+]?[\d.]+$/.test(digits)) && content.length > 0 ? `<<${content.join(', ')}>>` : undefined;
      default: return undefined;
    }
  }

  value(value) {
    const text = this.random.chance(0.5) ? this.literal(value) : undefined;
    if (text !== undefined && text.length < 500) return text;
    this.parameters.push(value);
    return '?';
  }

  operand(type) {
    const { random } = this;
    return this.value(valueOf(random, random.chance(0.85) ? type : random.pick(['S', 'N', 'BOOL', 'L', 'B', 'SS'])));
  }

  predicate() {
    const { random } = this;
    const { text, type } = this.path();
    return random.weighted([
      [6, () => `${text} ${random.pick(['=', '=', '<', '<=', '>', '>='])} ${this.operand(type)}`],
      [1, () => `${this.operand(type)} ${random.pick(['=', '<', '>='])} ${text}`],
      [1, () => `${text} ${random.chance(0.2) ? 'NOT ' : ''}BETWEEN ${this.operand(type)} AND ${this.operand(type)}`],
      [2, () => {
        const [open, close] = random.pick(['[]', '()']);
        return `${text} ${random.chance(0.2) ? 'not ' : ''}IN ${open}${Array.from({ length: random.between(1, 3) }, () => this.operand(type)).join(', ')}${close}`;
      }],
      [2, () => `${text} IS ${random.chance(0.4) ? 'NOT ' : ''}${random.pick(['MISSING', 'MISSING', 'NULL'])}`],
      [1, () => `begins_with(${text}, ${this.operand('S')})`],
      [1, () => `contains(${text}, ${this.operand(random.pick(['S', 'N']))})`],
      [1, () => `attribute_type(${text}, '${random.pick(['S', 'N', 'L', 'M', 'SS', 'Q'])}')`],
      [1, () => `size(${text}) ${random.pick(['=', '>', '<'])} ${random.between(0, 3)}`],
      [0.3, () => `${random.pick(FUNCTIONS)}(${text})`],
      [0.2, () => `${random.pick(KEYWORDS)} = 1`],
      [0.2, () => text],
    ]);
  }

  condition(depth = 2) {
    const { random } = this;
    return random.weighted([
      [5, () => this.predicate()],
      [depth, () => `${this.condition(depth - 1)} AND ${this.condition(depth - 1)}`],
      [depth, () => `(${this.condition(depth - 1)} OR ${this.condition(depth - 1)})`],
      [1, () => `NOT ${this.predicate()}`],
    ]);
  }

  keyValue(attribute, value) {
    return this.value(this.random.chance(0.03) ? badKeyValue(this.random, attribute.type) : value);
  }

  /** Equality on every key attribute; sometimes with more, or with one missing. */
  where(key) {
    const { random, table } = this;
    const parts = [`${this.name(table.hash.name)} = ${this.keyValue(table.hash, key[table.hash.name])}`];
    if (table.range && !random.chance(0.03)) parts.push(`${this.name(table.range.name)} = ${this.keyValue(table.range, key[table.range.name])}`);
    if (random.chance(0.3)) parts.push(this.condition());
    return ` WHERE ${parts.join(' AND ')}`;
  }

  request() {
    return { Statement: this.text, ...(this.parameters.length > 0 && { Parameters: this.parameters }) };
  }
}

/** Breaks a statement's text in one place. */
function broken(random, text) {
  const tokens = text.match(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|<<|>>|<=|>=|<>|[^\s\w]/gu) ?? [text];
  const at = random.between(0, tokens.length - 1);
  random.weighted([
    [2, () => tokens.splice(at, 1)],
    [1, () => tokens.splice(at, 0, tokens[at])],
    [1, () => { tokens[at] = random.pick(['?', ',', '(', ')', 'AND', 'x', "'x'", '1', '*', 'FROM', '{', ']']); }],
  ]);
  return tokens.join(' ');
}

function select(world, table, single) {
  const { random } = world;
  const one = new Statement(random, table);
  const list = random.chance(0.6) ? '*' : random.sample(ATTRIBUTE_NAMES, random.between(1, 3)).map((name) => one.name(name)).join(', ');
  let text = `SELECT ${list} FROM ${quoted(table.name)}`;
  let ordered = true;
  const key = world.key(table);
  if (single || random.chance(0.3)) {
    text += one.where(key);
  } else if (table.range && random.chance(0.7)) {
    text += ` WHERE ${one.name(table.hash.name)} = ${one.keyValue(table.hash, key[table.hash.name])}`;
    const name = one.name(table.range.name);
    if (random.chance(0.6)) {
      text += ` AND ${random.weighted([
        [3, () => `${name} ${random.pick(['<', '<=', '>', '>='])} ${one.keyValue(table.range, key[table.range.name])}`],
        [1, () => `${name} BETWEEN ${one.value(key[table.range.name])} AND ${one.value(key[table.range.name])}`],
        [1, () => `begins_with(${name}, ${one.keyValue(table.range, key[table.range.name])})`],
        [1, () => `${name} IN [${one.value(key[table.range.name])}, ${one.value(world.key(table)[table.range.name])}]`],
      ])}`;
    }
    if (random.chance(0.2)) text += ` AND ${one.condition()}`;
    if (random.chance(0.3)) text += ` ORDER BY ${random.pick([name, one.name(table.hash.name), `${name} DESC`, `${name} ASC`, 'n'])}`;
  } else if (random.chance(0.4)) {
    const keys = [key, world.key(table)].map((each) => one.value(each[table.hash.name]));
    text += ` WHERE ${one.name(table.hash.name)} IN [${keys.join(', ')}]`;
  } else {
    ordered = false;
    if (random.chance(0.8)) text += ` WHERE ${one.condition()}`;
  }
  one.text = text;
  one.ordered = ordered;
  return one;
}

function insert(world, table) {
  const { random } = world;
  const one = new Statement(random, table);
  const values = { ...item(random, table), ...(random.chance(0.5) ? world.key(table) : {}) };
  if (random.chance(0.03)) values[random.pick(ATTRIBUTE_NAMES)] = badValue(random);
  if (random.chance(0.03)) delete values[table.range?.name ?? table.hash.name];
  const entries = Object.entries(values).map(([name, value]) => `'${name}': ${one.value(value)}`);
  one.text = `INSERT INTO ${quoted(table.name)} VALUE {${entries.join(', ')}}`;
  return one;
}

function update(world, table, returning) {
  const { random } = world;
  const one = new Statement(random, table);
  const clauses = [];
  for (let i = random.between(1, 3); i > 0; i--) {
    const { text, type } = one.path();
    clauses.push(random.weighted([
      [4, () => `SET ${text} = ${one.operand(type)}`],
      [2, () => `REMOVE ${text}`],
      [type === 'N' ? 3 : 0.1, () => `SET ${text} = ${text} ${random.pick(['+', '-'])} ${one.value({ N: random.pick(['1', '0.5', '10']) })}`],
      [type === 'L' ? 2 : 0.1, () => `SET ${text} = list_append(${text}, ${one.operand('L')})`],
      [['SS', 'NS'].includes(type) ? 3 : 0.1, () => `SET ${text} = ${random.pick(['set_add', 'set_delete'])}(${text}, ${one.operand(type)})`],
      [1, () => `SET ${text} = if_not_exists(${text}, ${one.operand(type)})`],
      [0.1, () => `SET ${one.name(table.hash.name)} = ${one.operand('S')}`],
    ]));
  }
  one.text = `UPDATE ${quoted(table.name)} ${clauses.join(' ')}${one.where(world.key(table))}`;
  if (returning && random.chance(0.5)) one.text += ` RETURNING ${random.pick(['ALL', 'MODIFIED'])} ${random.pick(['OLD', 'NEW'])} *`;
  return one;
}

function remove(world, table, returning) {
  const { random } = world;
  const one = new Statement(random, table);
  one.text = `DELETE FROM ${quoted(table.name)}${one.where(world.key(table))}`;
  if (returning && random.chance(0.4)) one.text += ` RETURNING ${random.pick(['ALL OLD', 'ALL OLD', 'ALL OLD', 'MODIFIED NEW'])} *`;
  return one;
}

function write(world, table, returning) {
  return world.random.weighted([[3, () => insert(world, table)], [4, () => update(world, table, returning)], [2, () => remove(world, table, returning)]]);
}

function executeStatement(world) {
  const { random } = world;
  const table = world.table();
  const one = random.chance(0.5) ? select(world, table, false) : write(world, table, true);
  if (random.chance(0.06)) one.text = broken(random, one.text);
  const request = one.request();
  if (random.chance(0.15)) request.ReturnValuesOnConditionCheckFailure = random.pick(['ALL_OLD', 'NONE']);
  if (random.chance(0.1)) request.ConsistentRead = random.chance(0.5);
  if (random.chance(0.03) && request.Parameters) request.Parameters.pop();
  if (request.Parameters?.length === 0) delete request.Parameters;
  const isSelect = one.text.startsWith('SELECT');
  const walk = isSelect && random.chance(0.3) ? { walk: 'statement' } : {};
  if (walk.walk) request.Limit = random.between(1, 4);
  return { op: 'ExecuteStatement', request, table, unordered: one.ordered === false, ...walk };
}

function several(world, op, member, most) {
  const { random } = world;
  const table = world.table();
  const reads = random.chance(0.4);
  const statements = Array.from({ length: random.between(1, most) }, () => {
    const each = random.chance(0.7) ? table : world.table();
    const mixed = random.chance(0.03);
    const one = reads !== mixed ? select(world, each, true) : write(world, each, op === 'BatchExecuteStatement' || random.chance(0.03));
    if (random.chance(0.03)) one.text = broken(random, one.text);
    if (op === 'ExecuteTransaction' && !reads && random.chance(0.1)) one.text = `EXISTS(${Object.assign(one, select(world, each, true)).text})`;
    return one.request();
  });
  return { op, request: { [member]: statements }, table };
}

/** The generators of this file with their weights. */
export const GENERATORS = [
  { op: 'ExecuteStatement', weight: 14, make: executeStatement },
  { op: 'BatchExecuteStatement', weight: 3, make: (world) => several(world, 'BatchExecuteStatement', 'Statements', 4) },
  { op: 'ExecuteTransaction', weight: 3, make: (world) => several(world, 'ExecuteTransaction', 'TransactStatements', 4) },
];
