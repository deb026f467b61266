// Expressions from the grammar of DynamoDB's condition, filter, key-condition, projection and update expressions.
// Each generator returns tokens; text is made of them last, so that a mutation can drop, repeat or replace a token.
import { ATTRIBUTES, ATTRIBUTE_NAMES, MEMBER_NAMES, NESTED_PATHS, TYPES, badValue, keyValue, value, valueOf } from './values.mjs';

const BARE = /^[A-Za-z][A-Za-z0-9_]*$/;
const RESERVED = new Set(['name', 'size', 'status', 'order', 'count', 'year']);
const COMPARATORS = ['=', '<>', '<', '<=', '>', '>='];

/** The names and values that the expressions of one request refer to. */
export class References {
  names = {};
  values = {};

  constructor(random) {
    this.random = random;
  }

  /** A token for the attribute: bare where the grammar allows it, or a #reference. */
  name(attribute) {
    if (BARE.test(attribute) && !RESERVED.has(attribute.toLowerCase()) && !this.random.chance(0.25)) return attribute;
    for (const [reference, target] of Object.entries(this.names)) {
      if (target === attribute && !this.random.chance(0.05)) return reference;
    }
    const reference = `#${this.random.pick(['n', 'x_', '_', ''])}${Object.keys(this.names).length}`;
    this.names[reference] = attribute;
    return reference;
  }

  /** A :reference to the value. */
  value(attributeValue) {
    for (const [reference, target] of Object.entries(this.values)) {
      if (JSON.stringify(target) === JSON.stringify(attributeValue) && this.random.chance(0.3)) return reference;
    }
    const reference = `:${this.random.pick(['v', 'w_', '', 'V'])}${Object.keys(this.values).length}`;
    this.values[reference] = attributeValue;
    return reference;
  }

  /** Adds the members to a request; a map that stayed empty is left out. */
  addTo(request) {
    if (Object.keys(this.names).length > 0) request.ExpressionAttributeNames = this.names;
    if (Object.keys(this.values).length > 0) request.ExpressionAttributeValues = this.values;
  }
}

export class Expressions {
  /** `table` gives the key names, which expressions name now and then. */
  constructor(random, table) {
    this.random = random;
    this.table = table;
    this.references = new References(random);
  }

  attribute() {
    const { random, table } = this;
    if (random.chance(0.08)) return random.pick([table.hash.name, table.range?.name ?? table.hash.name]);
    if (random.chance(0.03)) return 'never';
    return random.pick(ATTRIBUTE_NAMES);
  }

  typeOf(attribute) {
    if (attribute === this.table.hash.name) return this.table.hash.type;
    if (attribute === this.table.range?.name) return this.table.range.type;
    return ATTRIBUTES[attribute] ?? 'S';
  }

  /** Tokens of a document path that starts at `attribute`; it goes deeper with probability `deeper` at each step. */
  path(attribute = this.attribute(), deeper = 0.5) {
    const { random } = this;
    const tokens = [this.references.name(attribute)];
    let type = this.typeOf(attribute);
    if (NESTED_PATHS[type] && random.chance(0.6)) {
      const [steps, found] = random.pick(NESTED_PATHS[type]);
      for (const step of steps) tokens.push(/^[a-z]$/.test(step) ? this.references.name(step) : step);
      return { tokens, type: found };
    }
    while (tokens.length < 9 && random.chance(type === 'L' || type === 'M' ? deeper : deeper / 12)) {
      const list = random.chance(0.9) ? type === 'L' : type !== 'L';
      if (list) tokens.push('[', String(random.pick([0, 0, 1, 1, 2, 3, 7, 10])), ']');
      else tokens.push('.', this.references.name(random.pick(MEMBER_NAMES)));
      type = random.pick(TYPES);
    }
    return { tokens, type: tokens.length === 1 ? type : undefined };
  }

  /** A value reference; of the given type mostly. */
  constant(type, likely = 0.9) {
    const { random } = this;
    const chosen = type && random.chance(likely) ? valueOf(random, type, 1) : value(random, 1);
    return [this.references.value(chosen)];
  }

  operand(type) {
    const { random } = this;
    return random.weighted([
      [6, () => this.constant(type)],
      [3, () => this.path().tokens],
      [1, () => ['size', '(', ...this.path().tokens, ')']],
      [0.3, () => ['(', ...this.path().tokens, ')']],
    ]);
  }

  comparison() {
    const { random } = this;
    const left = this.path();
    if (random.chance(0.12)) {
      return ['size', '(', ...left.tokens, ')', random.pick(COMPARATORS), ...this.constant('N')];
    }
    const comparator = random.chance(0.4) ? random.pick(['=', '<>']) : random.pick(COMPARATORS);
    const type = left.type ?? random.pick(TYPES);
    const sides = [left.tokens, this.operand(type)];
    if (random.chance(0.15)) sides.reverse();
    return [...sides[0], comparator, ...sides[1]];
  }

  /** References to two values of the type, the lower one first mostly. */
  ordered(type, make = () => valueOf(this.random, type, 0)) {
    const pair = [make(), make()];
    if (type === 'N') pair.sort((a, b) => Number(a.N) - Number(b.N));
    if (type === 'S') pair.sort((a, b) => Buffer.compare(Buffer.from(a.S), Buffer.from(b.S)));
    if (type === 'B') pair.sort((a, b) => Buffer.compare(Buffer.from(a.B, 'base64'), Buffer.from(b.B, 'base64')));
    if (this.random.chance(0.1)) pair.reverse();
    return pair.map((bound) => this.references.value(bound));
  }

  predicate() {
    const { random } = this;
    const path = () => this.path().tokens;
    return random.weighted([
      [6, () => this.comparison()],
      [1.5, () => {
        const left = this.path();
        const type = ['S', 'N', 'B'].includes(left.type) ? left.type : random.pick(['S', 'N', 'B']);
        if (random.chance(0.2)) {
          return [...left.tokens, 'BETWEEN', ...this.operand(type), 'AND', ...this.operand(type)];
        }
        const [low, high] = this.ordered(type);
        return [...left.tokens, 'BETWEEN', low, 'AND', high];
      }],
      [1.5, () => {
        const left = this.path();
        const tokens = [...left.tokens, 'IN', '('];
        const count = random.chance(0.03) ? random.between(98, 102) : random.between(1, 4);
        for (let i = 0; i < count; i++) tokens.push(...(i ? [','] : []), ...this.operand(left.type));
        return [...tokens, ')'];
      }],
      [1.5, () => ['attribute_exists', '(', ...path(), ')']],
      [1.5, () => ['attribute_not_exists', '(', ...path(), ')']],
      [1.2, () => ['attribute_type', '(', ...path(), ',',
        ...(random.chance(0.05) ? path() : [this.references.value(random.chance(0.9) ? { S: random.pick(TYPES) } : value(random, 0))]), ')']],
      [1.5, () => {
        const left = this.path(random.chance(0.7) ? random.pick(['s', 't', 'b', 'name']) : undefined);
        return ['begins_with', '(', ...left.tokens, ',', ...this.operand(left.type), ')'];
      }],
      [1.8, () => {
        const left = this.path(random.chance(0.7) ? random.pick(['s', 'ss', 'ns', 'bs', 'l', 'b']) : undefined);
        const type = { SS: 'S', NS: 'N', BS: 'B', L: random.pick(TYPES) }[left.type] ?? left.type;
        return ['contains', '(', ...left.tokens, ',', ...this.operand(type), ')'];
      }],
    ]);
  }

  /** Tokens of a condition or filter. */
  condition(depth = 2) {
    const { random } = this;
    if (depth === 0 || random.chance(0.45)) return this.predicate();
    return random.weighted([
      [3, () => [...this.term(depth - 1), 'AND', ...this.term(depth - 1)]],
      [2, () => [...this.condition(depth - 1), 'OR', ...this.condition(depth - 1)]],
      [2, () => ['NOT', ...this.term(depth - 1)]],
      [1, () => ['(', ...this.condition(depth - 1), ')']],
    ]);
  }

  /** A condition that may stand beside AND and NOT: an OR inside is put in parentheses. */
  term(depth) {
    const tokens = this.condition(depth);
    return tokens.includes('OR') || this.random.chance(0.15) ? ['(', ...tokens, ')'] : tokens;
  }

  keyCondition() {
    const { random, table } = this;
    const constant = (part) => this.references.value(random.chance(0.95) ? keyValue(random, part.type) : value(random, 0));
    const hash = [this.references.name(table.hash.name), '=', constant(table.hash)];
    if (random.chance(0.05)) hash[1] = random.pick(COMPARATORS);
    if (!table.range || random.chance(0.35)) {
      return random.chance(0.1) ? ['(', ...hash, ')'] : hash;
    }
    const name = random.chance(0.97) ? table.range.name : this.attribute();
    let reference = name === table.hash.name ? hash[0] : undefined;
    const own = () => (reference ??= this.references.name(name));
    let range = random.weighted([
      [5, () => [own(), random.chance(0.04) ? '<>' : random.pick(['=', '<', '<=', '>', '>=']), constant(table.range)]],
      [1, () => [constant(table.range), random.pick(['=', '<', '<=', '>', '>=']), own()]],
      [2, () => {
        const [low, high] = this.ordered(table.range.type, () => keyValue(random, table.range.type));
        return [own(), 'BETWEEN', low, 'AND', high];
      }],
      [table.range.type === 'N' ? 0.2 : 2, () => ['begins_with', '(', own(), ',', constant(table.range), ')']],
      [0.3, () => this.predicate()],
    ]);
    if (random.chance(0.1)) range = ['(', ...range, ')'];
    const sides = random.chance(0.8) ? [hash, range] : [range, hash];
    return [...sides[0], random.chance(0.97) ? 'AND' : 'OR', ...sides[1]];
  }

  projection() {
    const tokens = [];
    for (const attribute of this.distinctAttributes(this.random.between(1, 4))) {
      tokens.push(...(tokens.length ? [','] : []), ...this.path(attribute).tokens);
    }
    return tokens;
  }

  distinctAttributes(count) {
    const { random, table } = this;
    if (random.chance(0.1)) return Array.from({ length: count }, () => random.pick(['l', 'o', 'l', 'o', 'q']));
    const names = [...ATTRIBUTE_NAMES];
    if (random.chance(0.25)) names.push(table.hash.name, table.range?.name ?? 'never');
    return random.sample(names, count);
  }

  setOperand(type, depth = 1) {
    const { random } = this;
    return random.weighted([
      [5, () => this.constant(type)],
      [1.2, () => this.path(this.attributeOfType(type), 0.2).tokens],
      [depth, () => ['if_not_exists', '(', ...this.path(this.attributeOfType(type)).tokens, ',', ...this.setOperand(type, depth - 1), ')']],
      [type === 'L' ? 3 * depth : 0.1 * depth,
        () => ['list_append', '(', ...this.setOperand('L', depth - 1), ',', ...this.setOperand('L', depth - 1), ')']],
    ]);
  }

  attributeOfType(type) {
    const names = ATTRIBUTE_NAMES.filter((name) => ATTRIBUTES[name] === type);
    return names.length > 0 && this.random.chance(0.85) ? this.random.pick(names) : this.attribute();
  }

  update() {
    const { random } = this;
    const clauses = random.sample(['SET', 'SET', 'REMOVE', 'ADD', 'DELETE'], random.weighted([[6, 1], [3, 2], [1, 3]]));
    const kept = random.chance(0.03) ? clauses : [...new Set(clauses)];
    const attributes = this.distinctAttributes(kept.length * 3);
    const tokens = [];
    for (const clause of kept) {
      tokens.push(clause);
      const actions = random.weighted([[6, 1], [2, 2], [1, 3]]);
      for (let i = 0; i < actions; i++) {
        if (i > 0) tokens.push(',');
        tokens.push(...this.action(clause, attributes.pop() ?? this.attribute()));
      }
    }
    return tokens;
  }

  action(clause, attribute) {
    const { random } = this;
    if (clause === 'ADD' || clause === 'DELETE') {
      const types = clause === 'ADD' ? ['N', 'N', 'SS', 'NS', 'BS'] : ['SS', 'NS', 'BS'];
      const type = random.pick(types);
      const path = this.path(random.chance(0.8) ? this.attributeOfType(type) : attribute, 0.2);
      return [...path.tokens, ...this.constant(path.type && types.includes(path.type) ? path.type : type)];
    }
    const { tokens, type } = this.path(attribute, 0.3);
    if (clause === 'REMOVE') return tokens;
    const target = type ?? random.pick(TYPES);
    const right = random.weighted([
      [6, () => this.setOperand(target)],
      [2, () => [...this.setOperand('N'), random.pick(['+', '-']), ...this.setOperand('N')]],
      [0.5, () => ['(', ...this.setOperand(target), ')']],
    ]);
    return [...tokens, '=', ...right];
  }
}

const GLUE = new Set(['.', '[', ']']);

/** The text of tokens. Paths are written without spaces; elsewhere spaces vary but never merge two words. */
export function textOf(random, tokens) {
  let text = '';
  tokens.forEach((token, at) => {
    const before = tokens[at - 1];
    const glued = at === 0 || GLUE.has(token) || before === '.' || before === '[' ||
      (token === '(' && /^[a-z_]+$/.test(before) && !random.chance(0.05));
    const optional = /^[(),=<>+-]/.test(token) || /^[(),=+-]$/.test(before ?? '');
    const space = glued ? '' : optional && random.chance(0.3) ? '' : random.pick([' ', ' ', ' ', ' ', '  ', '\n', '\t']);
    const keyword = /^(AND|OR|NOT|BETWEEN|IN|SET|REMOVE|ADD|DELETE)$/.test(token);
    text += space + (keyword && random.chance(0.1) ? token.toLowerCase() : token);
  });
  return text;
}

/** Breaks tokens or references in one way. */
export function mutate(random, tokens, references) {
  const at = random.between(0, Math.max(0, tokens.length - 1));
  const copy = [...tokens];
  const indexOf = (pattern) => {
    const found = copy.flatMap((token, i) => (pattern.test(token) ? [i] : []));
    return found.length > 0 ? random.pick(found) : at;
  };
  return random.weighted([
    [3, () => { copy.splice(at, 1); return copy; }],
    [1, () => { copy.splice(at, 0, copy[at]); return copy; }],
    [1, () => { copy.splice(at, 0, random.pick(['!', '@', '1', '"a"', ')', '(', ',', 'AND', '==', '#', ':', '-', '[', '.', '/', "'x'"])); return copy; }],
    [1, () => copy.slice(0, at)],
    [2, () => { copy[indexOf(/^[a-z]+_[a-z_]+$|^size$|^contains$/)] = random.pick(['foo', 'SIZE', 'size', 'contains', 'if_not_exists', 'attribute_exists', 'begins_with', 'list_append', 'Contains']); return copy; }],
    [2, () => { copy[indexOf(/^:/)] = ':missing'; return copy; }],
    [2, () => { copy[indexOf(/^#|^[a-z]+$/)] = '#missing'; return copy; }],
    [2, () => { copy[indexOf(/^[a-z]+$/)] = random.pick(['name', 'Size', 'STATUS', 'count', 'order', '_x', '9a', 'año']); return copy; }],
    [2, () => { references.values[':unused'] = value(random, 0); return copy; }],
    [2, () => { references.names['#unused'] = 'n'; return copy; }],
    [1, () => ['(', '(', ...copy, ')', ')']],
    [1, () => ['(', ...copy, ')']],
    [1, () => { references.values[random.pick([':bad', ':', 'bad', ':a-b', ':v0', ':é'])] = value(random, 0); return copy; }],
    [1, () => { references.names[random.pick(['#bad', '#', 'bad', '#a-b', '#n0'])] = random.pick(['n', '', 'x'.repeat(300)]); return copy; }],
    [2, () => {
      const keys = Object.keys(references.values);
      if (keys.length > 0) references.values[random.pick(keys)] = random.chance(0.5) ? badValue(random) : value(random);
      return copy;
    }],
    [0.5, () => []],
    [0.3, () => Array.from({ length: random.pick([60, 110, 320]) }, (_, i) => (i ? ['AND', ...copy] : copy)).flat()],
    [0.3, () => { references.values = {}; return copy; }],
    [0.3, () => { references.names = {}; return copy; }],
  ]);
}
