// Expressions with their placeholders: conditions, filters, updates. Every name and value goes
// through a placeholder, so that reserved words and dots in names never matter.
import type { Change } from './difference.ts';
import type { Path } from './path.ts';
import { type AttributeValue, emptyItem, type Item } from './value.ts';

export interface Substitutions {
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Item;
}

// DynamoDB's limits for one expression.
export const kMostExpressionBytes = 4096;
export const kMostOperators = 300;

// Hands out placeholders; the same name or value gets the same one.
export class Placeholders {
  private readonly names = new Map<string, string>();
  private readonly values = emptyItem();
  private readonly valueKeys = new Map<string, string>();
  private readonly taken = new Set<string>();

  // `#year` where the name is a plain word, `#n3` where it is not.
  name(name: string): string {
    let token = this.names.get(name);
    if (token === undefined) {
      token = /^[A-Za-z][A-Za-z0-9_]{0,60}$/.test(name) ? `#${name}` : `#n${this.names.size}`;
      while (this.taken.has(token)) token = `#n${this.names.size}_${this.taken.size}`;
      this.taken.add(token);
      this.names.set(name, token);
    }
    return token;
  }

  path(path: Path): string {
    let text = '';
    for (const segment of path) {
      if (typeof segment === 'number') text += `[${segment}]`;
      else text += (text === '' ? '' : '.') + this.name(segment);
    }
    return text;
  }

  // `:year`, or with a number where that is taken. `hint` is what the value is compared with.
  value(value: AttributeValue, hint = ''): string {
    const key = JSON.stringify(value);
    const known = this.valueKeys.get(key);
    if (known !== undefined) return known;
    const plain = hint.replace(/[^A-Za-z0-9_]/g, '').slice(0, 40);
    let token = plain === '' ? ':v0' : `:${plain}`;
    for (let n = 1; Object.hasOwn(this.values, token); ++n)
      token = plain === '' ? `:v${n}` : `:${plain}${n}`;
    this.values[token] = value;
    this.valueKeys.set(key, token);
    return token;
  }

  // What the request needs; nothing where no placeholder was handed out.
  substitutions(): Substitutions {
    const out: Substitutions = {};
    if (this.names.size > 0) {
      const names = Object.create(null) as Record<string, string>;
      for (const [name, token] of this.names) names[token] = name;
      out.ExpressionAttributeNames = names;
    }
    if (Object.keys(this.values).length > 0) out.ExpressionAttributeValues = this.values;
    return out;
  }
}

const hintOf = (path: Path): string => String(path.findLast((one) => typeof one === 'string'));

// `path = :old`, or that the path is not there.
export function asSeen(placeholders: Placeholders, change: Change): string {
  const path = placeholders.path(change.path);
  if (change.before === undefined) return `attribute_not_exists(${path})`;
  return `${path} = ${placeholders.value(change.before, `old_${hintOf(change.path)}`)}`;
}

export interface Update extends Substitutions {
  UpdateExpression?: string;
  ConditionExpression: string;
}

export class TooManyChanges extends Error {}

// The update that makes the changes, on the condition that each touched path is as it was seen and
// that the item exists. Throws TooManyChanges where it does not fit into one expression: an update
// is never divided, because half of it would be a state that was never meant.
export function updateFor(
  changes: readonly Change[],
  key: readonly string[],
  more: (placeholders: Placeholders) => string[] = () => [],
): Update {
  const placeholders = new Placeholders();
  const conditions = key.slice(0, 1).map((one) => `attribute_exists(${placeholders.name(one)})`);
  const sets: string[] = [];
  const removes: string[] = [];
  for (const change of changes) {
    const path = placeholders.path(change.path);
    if (change.after === undefined) removes.push(path);
    else sets.push(`${path} = ${placeholders.value(change.after, hintOf(change.path))}`);
    conditions.push(asSeen(placeholders, change));
  }
  conditions.push(...more(placeholders));
  const clauses = [];
  if (sets.length > 0) clauses.push(`SET ${sets.join(', ')}`);
  if (removes.length > 0) clauses.push(`REMOVE ${removes.join(', ')}`);
  const update = clauses.join(' ');
  const condition = conditions.join(' AND ');
  checkLengths(update, condition, changes.length, conditions.length * 2 - 1);
  const out: Update = { ConditionExpression: condition, ...placeholders.substitutions() };
  if (update !== '') out.UpdateExpression = update;
  return out;
}

function checkLengths(update: string, condition: string, paths: number, operators: number): void {
  const bytes = Math.max(
    new TextEncoder().encode(update).length,
    new TextEncoder().encode(condition).length,
  );
  if (bytes <= kMostExpressionBytes && operators <= kMostOperators) return;
  throw new TooManyChanges(
    `${paths} places are changed. One update has room for about 140: an expression holds 4 KB and ` +
      `${kMostOperators} operators. Save in smaller steps, or replace a whole map or list.`,
  );
}

// That the item is exactly as it was seen: every attribute equal. Attributes that others added
// since are not noticed by this; the size of the item cannot be asked for.
export function unchanged(placeholders: Placeholders, item: Item): string[] {
  return Object.keys(item).map((name) =>
    asSeen(placeholders, { path: [name], before: item[name], after: undefined }),
  );
}
