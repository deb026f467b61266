// The tables of one batch of requests, and the weight of every generator.
import { addIndexes, GENERATORS as INDEXES, indexedItem } from './indexes.mjs';
import { GENERATORS as LEGACY } from './legacy.mjs';
import { GENERATORS as OPERATIONS, tableRequest } from './operations.mjs';
import { GENERATORS as PARTIQL } from './partiql.mjs';
import { mutateRequest } from './requests.mjs';
import { GENERATORS as TRANSACTIONS } from './transactions.mjs';
import { item, key } from './values.mjs';

export const GENERATORS = [...OPERATIONS, ...INDEXES, ...TRANSACTIONS, ...LEGACY, ...PARTIQL];

/** The tables of one batch, and names for those that requests may create and delete. */
export class World {
  constructor(random, batch) {
    this.random = random;
    this.tables = [];
    this.capacityChanges = new Map();
    this.prefix = `d${batch}`;
  }

  /** The requests that build the starting state. */
  setUp() {
    const { random } = this;
    const steps = [];
    for (const letter of ['a', 'b', 'c', 'd']) {
      const request = tableRequest(random, `${this.prefix}.${letter}`);
      const [hash, range] = request.AttributeDefinitions.map((each) => ({ name: each.AttributeName, type: each.AttributeType }));
      const table = { name: request.TableName, hash, range, provisioned: request.ProvisionedThroughput !== undefined };
      if (letter > 'b') addIndexes(random, request, table);
      this.tables.push(table);
      steps.push({ op: 'CreateTable', request, changesTables: true });
    }
    for (const table of this.tables) {
      const items = new Map();
      for (let i = 0; i < 14; i++) {
        const one = table.indexes ? indexedItem(random, table) : item(random, table);
        items.set(JSON.stringify([one[table.hash.name], table.range && one[table.range.name]]), one);
      }
      table.keys = [...items.values()].map((one) => ({
        [table.hash.name]: one[table.hash.name], ...(table.range ? { [table.range.name]: one[table.range.name] } : {}),
      }));
      for (const one of items.values()) steps.push({ op: 'PutItem', request: { TableName: table.name, Item: one }, table });
    }
    return steps;
  }

  table(accept = () => true) {
    const fitting = this.tables.filter(accept);
    return this.random.pick(fitting.length > 0 ? fitting : this.tables);
  }

  /** A key of the table: of an item that was there at the start, mostly. */
  key(table) {
    return this.random.chance(0.7) ? structuredClone(this.random.pick(table.keys)) : key(this.random, table);
  }

  freeName() {
    return `${this.prefix}-x${this.random.between(0, 3)}`;
  }

  anyName() {
    return this.random.chance(0.5) ? this.table().name : this.random.chance(0.6) ? this.freeName() : 'nosuchtable';
  }

  /** The next step; of operation `only` if given. */
  step(only) {
    const { random } = this;
    const choices = GENERATORS.filter((each) => !only || each.op === only).map((each) => [each.weight, () => each.make(this)]);
    if (choices.length === 0) throw new Error(`no generator for ${only}`);
    const step = random.weighted(choices);
    if (!step.walk && random.chance(0.1)) step.request = mutateRequest(random, step.request, step.table);
    return step;
  }
}
