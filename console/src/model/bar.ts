// The bar over the items: what is filled in decides between GetItem, Query and Scan.
import { Placeholders } from './expression.ts';
import { parsePath } from './path.ts';
import { type KeyAttribute, keysOf, type TableDescription } from './table.ts';
import { parseText } from './text_value.ts';
import { type AttributeType, type AttributeValue, type Item, itemOf } from './value.ts';

export type SortOperator = '=' | '<' | '<=' | '>' | '>=' | 'between' | 'begins_with';
export type FilterOperator =
  | SortOperator
  | '<>'
  | 'in'
  | 'contains'
  | 'not_contains'
  | 'exists'
  | 'not_exists'
  | 'type'
  | 'size ='
  | 'size <'
  | 'size >';

export const kSortOperators: readonly SortOperator[] = [
  '=',
  '<',
  '<=',
  '>',
  '>=',
  'between',
  'begins_with',
];

export const kFilterOperators: readonly FilterOperator[] = [
  '=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  'between',
  'in',
  'begins_with',
  'contains',
  'not_contains',
  'exists',
  'not_exists',
  'type',
  'size =',
  'size <',
  'size >',
];

export const kOperatorWords: Record<FilterOperator, string> = {
  '=': '=',
  '<>': 'is not',
  '<': '<',
  '<=': '≤',
  '>': '>',
  '>=': '≥',
  between: 'between',
  in: 'is one of',
  begins_with: 'begins with',
  contains: 'contains',
  not_contains: 'does not contain',
  exists: 'exists',
  not_exists: 'does not exist',
  type: 'has the type',
  'size =': 'has size',
  'size <': 'is shorter than',
  'size >': 'is longer than',
};

// How many values the operator takes: 0, 1, 2 or any ("many").
export const operandsOf = (operator: FilterOperator): 0 | 1 | 2 | 'many' =>
  operator === 'exists' || operator === 'not_exists'
    ? 0
    : operator === 'between'
      ? 2
      : operator === 'in'
        ? 'many'
        : 1;

export interface SortCondition {
  operator: SortOperator;
  values: string[];
}

export interface Filter {
  path: string;
  operator: FilterOperator;
  type: AttributeType;
  values: string[];
}

// What a user has filled in. Key values are text in the type of the key attribute; null: not given.
export interface Bar {
  index?: string | undefined;
  partition: (string | null)[];
  sort: (SortCondition | null)[];
  filters: Filter[];
  // Whether one filter is enough.
  any: boolean;
  descending: boolean;
  consistent: boolean;
}

export const emptyBar = (): Bar => ({
  partition: [],
  sort: [],
  filters: [],
  any: false,
  descending: false,
  consistent: false,
});

export interface ReadInput {
  TableName: string;
  IndexName?: string;
  Key?: Item;
  KeyConditionExpression?: string;
  FilterExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Item;
  ScanIndexForward?: boolean;
  ConsistentRead?: boolean;
}

export type ReadOperation = 'GetItem' | 'Query' | 'Scan';

export interface Plan {
  operation: ReadOperation;
  input: ReadInput;
  // What cannot be sent, by field: `partition.0`, `sort.0`, `filter.2`.
  errors: Map<string, string>;
  // Key attributes whose conditions are filters here, because the keys before them are not given.
  asFilters: string[];
  // The partition key's values, if all are given.
  partition: AttributeValue[] | null;
}

export function planOf(bar: Bar, table: TableDescription): Plan {
  return new Planner(bar, table).plan();
}

class Planner {
  private readonly placeholders = new Placeholders();
  private readonly errors = new Map<string, string>();
  private readonly asFilters: string[] = [];

  constructor(
    private readonly bar: Bar,
    private readonly table: TableDescription,
  ) {}

  plan(): Plan {
    const { bar, table } = this;
    const keys = keysOf(table, bar.index);
    const partition = keys.partition.map((key, i) => this.keyValue(key, bar.partition[i]));
    keys.partition.forEach((_, i) => {
      const value = partition[i];
      if (value && 'error' in value) this.errors.set(`partition.${i}`, value.error);
    });
    const given = partition.every((one) => one !== null);
    const values = given
      ? partition.flatMap((one) => (one && 'value' in one ? [one.value] : []))
      : [];
    const input: ReadInput = { TableName: table.TableName };
    if (bar.index !== undefined) input.IndexName = bar.index;
    if (bar.consistent && this.mayBeConsistent()) input.ConsistentRead = true;
    const result: Plan = {
      operation: 'Scan',
      input,
      errors: this.errors,
      asFilters: this.asFilters,
      partition: given && values.length === keys.partition.length ? values : null,
    };
    if (given && this.isWholeKey(keys.sort)) {
      result.operation = 'GetItem';
      input.Key = this.wholeKey(keys.partition, keys.sort, values);
      return result;
    }
    const filters: string[] = [];
    if (given) {
      result.operation = 'Query';
      const conditions = keys.partition.map((key, i) => {
        const value = values[i];
        return value
          ? `${this.placeholders.name(key.name)} = ${this.placeholders.value(value, key.name)}`
          : '';
      });
      conditions.push(...this.sortConditions(keys.sort));
      input.KeyConditionExpression = conditions.filter((one) => one !== '').join(' AND ');
      if (bar.descending) input.ScanIndexForward = false;
    } else {
      keys.partition.forEach((key, i) => {
        const value = partition[i];
        if (!value || 'error' in value) return;
        this.asFilters.push(key.name);
        filters.push(
          `${this.placeholders.name(key.name)} = ${this.placeholders.value(value.value, key.name)}`,
        );
      });
      keys.sort.forEach((key, i) => {
        const text = this.sortCondition(key, bar.sort[i], i);
        if (text === null) return;
        this.asFilters.push(key.name);
        filters.push(text);
      });
    }
    const wanted = bar.filters.flatMap((filter, i) => this.filter(filter, i) ?? []);
    if (wanted.length > 1 && bar.any) filters.push(`(${wanted.join(' OR ')})`);
    else filters.push(...wanted);
    if (filters.length > 0) {
      const all = filters.join(' AND ');
      // One pair of parentheses around everything is refused as redundant by some readers.
      input.FilterExpression =
        filters.length === 1 && wanted.length > 1 && bar.any ? wanted.join(' OR ') : all;
    }
    Object.assign(input, this.placeholders.substitutions());
    return result;
  }

  // Global indexes have no consistent reads.
  private mayBeConsistent(): boolean {
    const { index } = this.bar;
    return (
      index === undefined ||
      (this.table.LocalSecondaryIndexes ?? []).some((one) => one.IndexName === index)
    );
  }

  private keyValue(key: KeyAttribute, text: string | null | undefined) {
    if (text === null || text === undefined || text === '') return null;
    return parseText(key.type, text);
  }

  // A whole primary key of the table, and nothing to filter.
  private isWholeKey(sort: KeyAttribute[]): boolean {
    const { bar } = this;
    if (bar.index !== undefined || bar.filters.length > 0 || this.errors.size > 0) return false;
    return sort.every((key, i) => {
      const condition = bar.sort[i];
      if (condition?.operator !== '=') return false;
      const text = condition.values[0];
      if (text === undefined || text === '') return false;
      const value = this.keyValue(key, text);
      return value !== null && 'value' in value;
    });
  }

  private wholeKey(
    partition: KeyAttribute[],
    sort: KeyAttribute[],
    values: AttributeValue[],
  ): Item {
    const entries: [string, AttributeValue][] = partition.map((key, i) => [
      key.name,
      values[i] as AttributeValue,
    ]);
    sort.forEach((key, i) => {
      const value = this.keyValue(key, this.bar.sort[i]?.values[0]);
      if (value && 'value' in value) entries.push([key.name, value.value]);
    });
    return itemOf(entries);
  }

  // Sort keys are used from the left, and only the last one may be anything but equal.
  private sortConditions(sort: KeyAttribute[]): string[] {
    const texts: string[] = [];
    let open = true;
    sort.forEach((key, i) => {
      const condition = this.bar.sort[i];
      const text = this.sortCondition(key, condition, i);
      if (text === null) {
        open = false;
        return;
      }
      if (!open) {
        this.errors.set(
          `sort.${i}`,
          `Fill in the sort keys from the left, with = in all but the last one`,
        );
        return;
      }
      texts.push(text);
      if (condition?.operator !== '=') open = false;
    });
    return texts;
  }

  private sortCondition(
    key: KeyAttribute,
    condition: SortCondition | null | undefined,
    at: number,
  ): string | null {
    if (!condition || condition.values.every((text) => text === '')) return null;
    const values = this.operands(
      condition.operator,
      key.type,
      condition.values,
      `sort.${at}`,
      key.name,
    );
    if (values === null) return null;
    if (condition.operator === 'begins_with' && key.type === 'N') {
      this.errors.set(`sort.${at}`, 'Numbers have no beginning: use between');
      return null;
    }
    return comparison(this.placeholders.name(key.name), condition.operator, values);
  }

  private operands(
    operator: FilterOperator,
    type: AttributeType,
    texts: string[],
    field: string,
    hint: string,
  ): string[] | null {
    const count = operandsOf(operator);
    if (count === 0) return [];
    const wanted = count === 'many' ? texts : texts.slice(0, count);
    if (count !== 'many' && wanted.length < count) {
      this.errors.set(field, count === 2 ? 'Two values are needed' : 'A value is missing');
      return null;
    }
    if (wanted.length === 0) {
      this.errors.set(field, 'A value is missing');
      return null;
    }
    if (operator === 'type') return [this.placeholders.value({ S: type }, 'type')];
    const kind = operator.startsWith('size') ? 'N' : type;
    const values: string[] = [];
    for (const text of wanted) {
      const parsed = parseText(kind, text);
      if ('error' in parsed) {
        this.errors.set(field, parsed.error);
        return null;
      }
      values.push(this.placeholders.value(parsed.value, hint));
    }
    return values;
  }

  private filter(filter: Filter, at: number): string | null {
    const field = `filter.${at}`;
    if (filter.path.trim() === '') {
      this.errors.set(field, 'Which attribute?');
      return null;
    }
    const path = parsePath(filter.path);
    if (path === null) {
      this.errors.set(field, 'A path is written a.b[0], with other names in "quotes"');
      return null;
    }
    if (path.length === 1 && this.isQueriedKey(String(path[0]))) {
      this.errors.set(
        field,
        `${path[0]} is part of the key: its condition belongs to the key above`,
      );
      return null;
    }
    const hint = String(path.findLast((one) => typeof one === 'string'));
    const values = this.operands(
      filter.operator,
      filter.type,
      filter.operator === 'type' ? [''] : filter.values,
      field,
      hint,
    );
    return values === null
      ? null
      : comparison(this.placeholders.path(path), filter.operator, values);
  }

  // A Query refuses filters on the keys that it goes by; a Scan takes them.
  private isQueriedKey(name: string): boolean {
    const keys = keysOf(this.table, this.bar.index);
    const given = keys.partition.every((_, i) => (this.bar.partition[i] ?? '') !== '');
    return given && [...keys.partition, ...keys.sort].some((key) => key.name === name);
  }
}

function comparison(path: string, operator: FilterOperator, values: string[]): string {
  const [first, second] = values;
  switch (operator) {
    case 'between':
      return `${path} BETWEEN ${first} AND ${second}`;
    case 'in':
      return `${path} IN (${values.join(', ')})`;
    case 'begins_with':
      return `begins_with(${path}, ${first})`;
    case 'contains':
      return `contains(${path}, ${first})`;
    case 'not_contains':
      return `NOT contains(${path}, ${first})`;
    case 'exists':
      return `attribute_exists(${path})`;
    case 'not_exists':
      return `attribute_not_exists(${path})`;
    case 'type':
      return `attribute_type(${path}, ${first})`;
    case 'size =':
    case 'size <':
    case 'size >':
      return `size(${path}) ${operator.slice(5)} ${first}`;
    default:
      return `${path} ${operator} ${first}`;
  }
}

// The bar as parameters of the address, and back.
export function barToQuery(bar: Bar): [string, string][] {
  const out: [string, string][] = [];
  if (bar.index !== undefined) out.push(['index', bar.index]);
  if (bar.partition.some((text) => text !== null && text !== ''))
    for (const text of bar.partition) out.push(['pk', text ?? '']);
  bar.sort.forEach((condition, i) => {
    if (!condition || condition.values.every((text) => text === '')) return;
    out.push(['sk', JSON.stringify([String(i), condition.operator, ...condition.values])]);
  });
  for (const { path, operator, type, values } of bar.filters)
    out.push(['f', JSON.stringify([path, operator, type, ...values])]);
  if (bar.any) out.push(['any', '1']);
  if (bar.descending) out.push(['desc', '1']);
  if (bar.consistent) out.push(['strong', '1']);
  return out;
}

// What does not make sense is left out.
export function barFromQuery(query: URLSearchParams): Bar {
  const list = (text: string): string[] => {
    try {
      const json: unknown = JSON.parse(text);
      return Array.isArray(json) && json.every((one) => typeof one === 'string') ? json : [];
    } catch {
      return [];
    }
  };
  const sort: (SortCondition | null)[] = [];
  for (const text of query.getAll('sk')) {
    const [at, operator, ...values] = list(text);
    if (!/^[0-3]$/.test(at ?? '') || !kSortOperators.includes(operator as SortOperator)) continue;
    while (sort.length <= Number(at)) sort.push(null);
    sort[Number(at)] = { operator: operator as SortOperator, values };
  }
  const filters = query.getAll('f').flatMap((text): Filter[] => {
    const [path, operator, type, ...values] = list(text);
    if (path === undefined || !kFilterOperators.includes(operator as FilterOperator)) return [];
    return [
      { path, operator: operator as FilterOperator, type: (type ?? 'S') as AttributeType, values },
    ];
  });
  return {
    index: query.get('index') ?? undefined,
    partition: query.getAll('pk'),
    sort,
    filters,
    any: query.has('any'),
    descending: query.has('desc'),
    consistent: query.has('strong'),
  };
}
