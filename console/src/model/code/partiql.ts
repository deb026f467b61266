// PartiQL for requests on one item, a Query or a Scan. Expressions are rewritten token by token;
// those of the console are all of names and values behind placeholders.
import { canonical } from '../number.ts';
import { type AttributeValue, type Item, member } from '../value.ts';
import type { Request } from './request.ts';

export interface Statement {
  Statement: string;
  Parameters?: AttributeValue[];
}

const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;

// The statement, or null where PartiQL cannot say it: a PutItem that may replace, for one.
// `sort` is the queried sort key, which a descending Query has to name.
export function statementOf(request: Request, sort?: string): Statement | null {
  return new Writer(request, sort).write();
}

// As people read it: parameters below the statement.
export function partiql(request: Request, sort?: string): string | null {
  // No statement reads the past.
  if (request.asOf !== undefined) return null;
  const statement = statementOf(request, sort);
  if (statement === null) return null;
  const parameters = statement.Parameters
    ? `\nParameters: ${JSON.stringify(statement.Parameters)}\n`
    : '';
  return `${statement.Statement}\n${parameters}`;
}

class Writer {
  private readonly parameters: AttributeValue[] = [];
  private readonly input: Record<string, unknown>;

  constructor(
    private readonly request: Request,
    private readonly sort: string | undefined,
  ) {
    this.input = request.input;
  }

  write(): Statement | null {
    const statement = this.statement();
    if (statement === null) return null;
    return this.parameters.length > 0
      ? { Statement: statement, Parameters: this.parameters }
      : { Statement: statement };
  }

  private statement(): string | null {
    const table = identifier(String(this.input.TableName));
    switch (this.request.operation) {
      case 'GetItem':
        return `SELECT ${this.projection()} FROM ${table} WHERE ${this.key()}`;
      case 'Query':
      case 'Scan':
        return this.select(table);
      case 'PutItem': {
        const condition = String(this.input.ConditionExpression ?? '');
        if (!/^attribute_not_exists\(#\w+\)$/.test(condition)) return null;
        return `INSERT INTO ${table} VALUE ${this.map(this.input.Item as Item)}`;
      }
      case 'UpdateItem':
        return this.update(table);
      case 'DeleteItem':
        return `DELETE FROM ${table} WHERE ${this.keyAndCondition()}`;
      case 'ExecuteStatement':
        this.parameters.push(...((this.input.Parameters as AttributeValue[] | undefined) ?? []));
        return String(this.input.Statement);
      default:
        return null;
    }
  }

  private select(table: string): string | null {
    const { IndexName, KeyConditionExpression, FilterExpression, ScanIndexForward } = this.input;
    const target = IndexName === undefined ? table : `${table}.${identifier(String(IndexName))}`;
    const conditions = [KeyConditionExpression, FilterExpression]
      .filter((one) => one !== undefined)
      .map((one) => this.rewrite(String(one)));
    // AND binds tighter than OR.
    const where = conditions.map((one) =>
      conditions.length > 1 && one.includes(' OR ') && !one.startsWith('(') ? `(${one})` : one,
    );
    let out = `SELECT ${this.projection()} FROM ${target}`;
    if (where.length > 0) out += ` WHERE ${where.join(' AND ')}`;
    if (ScanIndexForward === false) {
      if (this.sort === undefined) return null;
      out += ` ORDER BY ${identifier(this.sort)} DESC`;
    }
    return out;
  }

  private projection(): string {
    const { ProjectionExpression } = this.input;
    return ProjectionExpression === undefined ? '*' : this.rewrite(String(ProjectionExpression));
  }

  private key(): string {
    const key = this.input.Key as Item;
    return Object.keys(key)
      .map((name) => `${identifier(name)} = ${this.literal(key[name] as AttributeValue)}`)
      .join(' AND ');
  }

  private keyAndCondition(): string {
    const key = this.key();
    const condition = this.input.ConditionExpression;
    if (condition === undefined) return key;
    // That the item exists is what PartiQL demands anyway.
    const rest = String(condition)
      .split(' AND ')
      .filter((one) => !this.isExistence(one));
    if (rest.length === 0) return key;
    return `${key} AND ${this.rewrite(rest.join(' AND '))}`;
  }

  private isExistence(condition: string): boolean {
    const match = /^attribute_exists\((#\w+)\)$/.exec(condition);
    return match !== null && Object.hasOwn(this.input.Key as Item, this.nameOf(match[1] as string));
  }

  private update(table: string): string | null {
    const condition = String(this.input.ConditionExpression ?? '');
    // UPDATE never creates an item, and UpdateItem without such a condition does.
    if (!condition.split(' AND ').some((one) => this.isExistence(one))) return null;
    const expression = String(this.input.UpdateExpression ?? '');
    const match = /^(?:SET (.*?))?\s*(?:REMOVE (.*))?$/.exec(expression);
    if (!match) return null;
    const sets = (match[1] ?? '').split(', ').filter((one) => one !== '');
    const removes = (match[2] ?? '').split(', ').filter((one) => one !== '');
    if (sets.length + removes.length === 0) return null;
    const clauses = [
      ...sets.map((one) => `SET ${this.rewrite(one)}`),
      ...removes.map((one) => `REMOVE ${this.rewrite(one)}`),
    ];
    return `UPDATE ${table} ${clauses.join(' ')} WHERE ${this.keyAndCondition()}`;
  }

  private nameOf(token: string): string {
    const names = (this.input.ExpressionAttributeNames ?? {}) as Record<string, string>;
    return Object.hasOwn(names, token) ? (names[token] as string) : token;
  }

  private rewrite(expression: string): string {
    let out = '';
    const exists: ('IS NOT MISSING' | 'IS MISSING' | 'IN' | '')[] = [];
    const tokens = expression.match(/[#:]?\w+|<>|<=|>=|\s+|./g) ?? [];
    for (let i = 0; i < tokens.length; ++i) {
      const token = tokens[i] as string;
      if (token === 'attribute_exists' || token === 'attribute_not_exists') {
        exists.push(token === 'attribute_exists' ? 'IS NOT MISSING' : 'IS MISSING');
        ++i; // its parenthesis
      } else if (token === '(') {
        const isList = /\bIN\s*$/.test(out);
        exists.push(isList ? 'IN' : '');
        out += isList ? '[' : '(';
      } else if (token === ')') {
        const open = exists.pop() ?? '';
        out += open === 'IN' ? ']' : open === '' ? ')' : ` ${open}`;
      } else if (token.startsWith('#')) {
        out += identifier(this.nameOf(token));
      } else if (token.startsWith(':')) {
        const values = this.input.ExpressionAttributeValues as Item;
        const value = member(values, token);
        out += value === undefined ? token : this.literal(value);
      } else {
        out += token;
      }
    }
    return out;
  }

  private literal(value: AttributeValue): string {
    if (hasBinary(value)) {
      this.parameters.push(value);
      return '?';
    }
    if ('S' in value) return text(value.S);
    if ('N' in value) return canonical(value.N);
    if ('BOOL' in value) return String(value.BOOL);
    if ('NULL' in value) return 'null';
    if ('M' in value) return this.map(value.M);
    if ('L' in value) return `[${value.L.map((one) => this.literal(one)).join(', ')}]`;
    if ('SS' in value) return `<<${value.SS.map(text).join(', ')}>>`;
    if ('NS' in value) return `<<${value.NS.map(canonical).join(', ')}>>`;
    return '?';
  }

  private map(item: Item): string {
    return `{${Object.keys(item)
      .map((name) => `${text(name)}: ${this.literal(item[name] as AttributeValue)}`)
      .join(', ')}}`;
  }
}

// Binaries have no literal.
function hasBinary(value: AttributeValue): boolean {
  if ('B' in value || 'BS' in value) return true;
  if ('M' in value) return Object.values(value.M).some(hasBinary);
  return 'L' in value && value.L.some(hasBinary);
}
