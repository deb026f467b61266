// Compares two answers to the same step. Normalises away what the protocol leaves free; a different
// wording or decision stays a difference, and known.mjs has to explain it.
//
// A difference is { path, stator, local }. Paths: 'outcome' (one succeeded, the other did not),
// 'status', 'type' (error name without its prefix), 'message', 'body.…' for members of the answer,
// 'after.Item…' for the item after a write.

import { canonicalNumber } from './numbers.mjs';

const isObject = (node) => node !== null && typeof node === 'object' && !Array.isArray(node);
const SETS = ['SS', 'NS', 'BS'];
const TIMES = ['CreationDateTime', 'LastIncreaseDateTime', 'LastDecreaseDateTime', 'LastUpdateToPayPerRequestDateTime',
  'LastUpdateDateTime'];
const IDENTIFIERS = ['TableArn', 'TableId', 'IndexArn', 'LatestStreamArn', 'LatestStreamLabel'];

const INDEX_LISTS = ['GlobalSecondaryIndexes', 'LocalSecondaryIndexes'];
const byName = (indexes) => [...indexes].sort((a, b) => (a.IndexName < b.IndexName ? -1 : 1));

/** JSON with sorted members, so that equal values have equal text. */
export function canonical(node) {
  if (Array.isArray(node)) return `[${node.map(canonical).join(',')}]`;
  if (isObject(node)) {
    return `{${Object.keys(node).sort().map((key) => `${JSON.stringify(key)}:${canonical(node[key])}`).join(',')}}`;
  }
  return JSON.stringify(node) ?? 'undefined';
}

/** In an order that does not depend on how numbers are written. */
function sorted(list) {
  const text = (node) => canonical(node).replace(/"N":"([^"]*)"/g, (whole, digits) => `"N":"${canonicalNumber(digits) ?? digits}"`);
  return list.map((node) => [text(node), node]).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, node]) => node);
}

function withSortedSets(node) {
  if (Array.isArray(node)) return node.map(withSortedSets);
  if (!isObject(node)) return node;
  const members = Object.keys(node);
  if (members.length === 1 && SETS.includes(members[0]) && Array.isArray(node[members[0]])) {
    return { [members[0]]: sorted(node[members[0]]) };
  }
  return Object.fromEntries(members.map((member) => [member, withSortedSets(node[member])]));
}

/** The node with every number of an attribute value in its canonical form, and sets in order. */
export function withCanonicalNumbers(node) {
  if (Array.isArray(node)) return node.map(withCanonicalNumbers);
  if (!isObject(node)) return node;
  if (typeof node.N === 'string') return { ...node, N: canonicalNumber(node.N) ?? node.N };
  if (Array.isArray(node.NS)) return { NS: sorted(node.NS.map((digits) => canonicalNumber(digits) ?? digits)) };
  return Object.fromEntries(Object.entries(node).map(([member, child]) => [member, withCanonicalNumbers(child)]));
}

function withoutVolatile(node) {
  if (Array.isArray(node)) return node.map(withoutVolatile);
  if (!isObject(node)) return node;
  const result = {};
  for (const [member, child] of Object.entries(node)) {
    if (TIMES.includes(member) && typeof child === 'number') result[member] = '<time>';
    else if (IDENTIFIERS.includes(member) && typeof child === 'string') result[member] = '<identifier>';
    else if (member === 'AttributeDefinitions' && Array.isArray(child)) result[member] = sorted(child);
    else if (INDEX_LISTS.includes(member) && Array.isArray(child)) result[member] = withoutVolatile(byName(child));
    else result[member] = withoutVolatile(child);
  }
  return result;
}

/** Frees what a page holds that does not begin at the beginning or does not reach the end. */
function freePart(result, { Limit }, begins) {
  if (Limit === undefined && !begins) return;
  for (const member of ['Items', 'Count', 'LastEvaluatedKey', 'ConsumedCapacity', ...(begins ? ['ScannedCount'] : [])]) {
    if (result[member] !== undefined) result[member] = '<free>';
  }
  if (begins) delete result.LastEvaluatedKey;
}

/** The order of index entries is free among those whose keys are equal; of all where their keys are not in the answer. */
function withFreeIndexOrder(step, result) {
  const { Items } = result;
  if (Array.isArray(Items)) {
    const ranges = (step.index?.ranges ?? []).map(({ name }) => name);
    const position = (item) => canonical(withCanonicalNumbers(ranges.map((name) => item[name])));
    const shown = Items.every((item) => ranges.every((name) => name in item)) && step.index !== undefined;
    const groups = [];
    for (const item of Items) {
      const at = shown ? position(item) : '';
      if (groups.at(-1)?.at === at) groups.at(-1).items.push(item);
      else groups.push({ at, items: [item] });
    }
    result.Items = groups.flatMap(({ items }) => sorted(items));
  }
  if (!step.walk) freePart(result, step.request, step.request.ExclusiveStartKey !== undefined);
  return result;
}

/** An answer's body with everything that may differ between two correct servers put into one form. */
function normalised(step, body) {
  if (!isObject(body)) return body;
  const tables = ['CreateTable', 'DescribeTable', 'UpdateTable', 'DeleteTable'];
  const result = tables.includes(step.op) ? withoutVolatile(body) : withSortedSets(body);
  if (Array.isArray(result.ConsumedCapacity)) result.ConsumedCapacity = result.ConsumedCapacity.sort((a, b) => (a.TableName < b.TableName ? -1 : 1));
  if (step.op === 'BatchGetItem') {
    for (const [table, items] of Object.entries(result.Responses ?? {})) {
      if (Array.isArray(items)) result.Responses[table] = sorted(items);
    }
    for (const block of Object.values(result.UnprocessedKeys ?? {})) {
      if (Array.isArray(block.Keys)) block.Keys = sorted(block.Keys);
    }
  }
  if (step.op === 'ExecuteStatement') {
    // A token is the server's own; that there is one has to agree, and so has what follows it (walks).
    if (result.NextToken !== undefined) result.NextToken = '<token>';
    delete result.LastEvaluatedKey; // Local has none
    if (step.unordered && Array.isArray(result.Items)) result.Items = sorted(result.Items);
  }
  if (step.op === 'Query' && step.request.IndexName !== undefined) return withFreeIndexOrder(step, result);
  if (step.op === 'Scan') {
    // Hash order is free, so a page that does not hold the whole table holds free items.
    if (Array.isArray(result.Items)) result.Items = sorted(result.Items);
    const { request } = step;
    if (!step.walk) freePart(result, request, request.ExclusiveStartKey || request.Segment !== undefined);
    if (step.walk) delete result.ConsumedCapacity;
  }
  return result;
}

/** The error name without its prefix. */
export function errorName(answer) {
  return String(answer.body?.__type ?? '').replace(/^.*#/, '');
}

/** The error text; lists in braces, which Java prints in hash order, are sorted. */
export function errorText(answer) {
  const text = answer.body?.message ?? answer.body?.Message;
  return text?.replace(/\{([^{}]*)\}/g, (_, list) => `{${list.split(/, ?/).sort().join(', ')}}`);
}

function diffNodes(path, stator, local, out) {
  if (canonical(stator) === canonical(local)) return;
  if (isObject(stator) && isObject(local)) {
    for (const member of new Set([...Object.keys(stator), ...Object.keys(local)])) {
      diffNodes(`${path}.${member}`, stator[member], local[member], out);
    }
  } else if (Array.isArray(stator) && Array.isArray(local) && stator.length === local.length) {
    stator.forEach((element, at) => diffNodes(`${path}[${at}]`, element, local[at], out));
  } else {
    out.push({ path, stator, local });
  }
}

export const succeeded = (answer) => answer.status === 200;

/** An answer's outcome as text: 'success' or 'ErrorName: message'. */
export const outcome = (answer) => (succeeded(answer) ? 'success' : `${errorName(answer)}: ${errorText(answer)}`);

/** All differences between the two answers to `step`; an empty list means equal. */
export function compare(step, stator, local) {
  const differences = [];
  if (succeeded(stator) !== succeeded(local)) {
    return [{ path: 'outcome', stator: outcome(stator), local: outcome(local) }];
  }
  if (succeeded(stator)) {
    if (stator.settled === false) return [{ path: 'settled', stator: false, local: local.settled }];
    diffNodes('body', normalised(step, stator.body), normalised(step, local.body), differences);
    diffNodes('after', withSortedSets(stator.after), withSortedSets(local.after), differences);
    return differences;
  }
  if (stator.status !== local.status) differences.push({ path: 'status', stator: stator.status, local: local.status });
  if (errorName(stator) !== errorName(local)) {
    differences.push({ path: 'type', stator: errorName(stator), local: errorName(local) });
  }
  if (errorText(stator) !== errorText(local)) {
    differences.push({ path: 'message', stator: errorText(stator), local: errorText(local) });
  }
  const members = ({ body }) => Object.fromEntries(
    Object.entries(body ?? {}).filter(([name]) => !['__type', 'message', 'Message'].includes(name)));
  diffNodes('body', withSortedSets(members(stator)), withSortedSets(members(local)), differences);
  return differences;
}

/** A short text that is the same for differences of one kind, whatever names and values they carry. */
export function signature(step, differences) {
  const shape = (node) => String(typeof node === 'object' ? '<json>' : node)
    .replace(/"[^"]*"|'[^']*'|\{[^}]*\}|\[[^\]]*\]/g, '…').replace(/(key|value|name|Key|function|keyword|token|type|attribute):? .*/, '$1 …')
    .replace(/[:#][A-Za-z0-9_]+/g, '…').replace(/-?\d+(\.\d+)?/g, '0').slice(0, 160);
  const parts = differences.map(({ path, stator, local }) => {
    const place = path.replace(/\[\d+\]/g, '[]').replace(/(Items|Item|Attributes|Responses)\b.*/, '$1');
    return ['message', 'outcome', 'type', 'status'].includes(path) ? `${path}(${shape(stator)} | ${shape(local)})` : place;
  });
  return `${step.op} ${[...new Set(parts)].join(' ')}`;
}
