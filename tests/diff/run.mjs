// Sends steps to a server and keeps two servers in the same state.
import { canonical, succeeded } from './compare.mjs';

const PAGE_LIMIT = 60;

async function pages(client, op, request) {
  const merged = { Items: undefined, Count: 0, ScannedCount: 0 };
  const each = [];
  let start;
  for (let page = 0; page < PAGE_LIMIT; page++) {
    const answer = await client.call(op, start ? { ...request, ExclusiveStartKey: start } : request);
    if (!succeeded(answer)) return answer;
    const { Items, Count, ScannedCount, LastEvaluatedKey } = answer.body;
    each.push(answer.body);
    if (Items) merged.Items = [...(merged.Items ?? []), ...Items];
    merged.Count += Count;
    merged.ScannedCount += ScannedCount;
    if (!LastEvaluatedKey) {
      // Pages of a table's Query are determined one by one; how a Scan is cut into pages depends on the free hash order,
      // that of an index on the free order of equal index keys.
      return { status: 200, body: op === 'Query' && request.IndexName === undefined ? { Pages: each } : merged };
    }
    start = LastEvaluatedKey;
  }
  return { status: 0, body: { __type: 'diff#Endless', message: `more than ${PAGE_LIMIT} pages` } };
}

/** The items of all pages of a statement. */
async function statement(client, op, request) {
  const items = [];
  let next;
  for (let page = 0; page < PAGE_LIMIT; page++) {
    const answer = await client.call(op, next ? { ...request, NextToken: next } : request);
    if (!succeeded(answer)) return answer;
    items.push(...answer.body.Items);
    next = answer.body.NextToken;
    if (!next) return { status: 200, body: { Items: items } };
  }
  return { status: 0, body: { __type: 'diff#Endless', message: `more than ${PAGE_LIMIT} pages` } };
}

async function segments(client, op, request) {
  const merged = { Items: [], Count: 0, ScannedCount: 0 };
  for (let segment = 0; segment < request.TotalSegments; segment++) {
    const answer = await pages(client, op, { ...request, Segment: segment });
    if (!succeeded(answer)) return answer;
    merged.Items.push(...(answer.body.Items ?? []));
    merged.Count += answer.body.Count;
    merged.ScannedCount += answer.body.ScannedCount;
  }
  return { status: 200, body: merged };
}

const SETTLING_LIMIT = 60000;

/** Waits until the table and its indexes are as they will stay: what is UPDATING is no state to compare. True if they are. */
async function settle(client, TableName) {
  const deadline = Date.now() + SETTLING_LIMIT;
  for (;;) {
    const { body } = await client.call('DescribeTable', { TableName });
    const statuses = [body.Table?.TableStatus, ...(body.Table?.GlobalSecondaryIndexes ?? []).map((index) => index.IndexStatus)];
    if (body.Table === undefined || statuses.every((status) => status === 'ACTIVE')) return true;
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Tokens that generators made are used again when steps are replayed: each replay has its own. */
function withOwnToken(client, request) {
  const token = request.ClientRequestToken;
  return typeof token === 'string' && token.startsWith('token-') ? { ...request, ClientRequestToken: `${token}-${client.epoch ?? 0}` } : request;
}

/** The items that a transaction wrote or looked at, as they are now. */
async function touched(client, request) {
  const items = [];
  for (const entry of request.TransactItems) {
    const [[kind, { TableName, Key, Item }]] = Object.entries(entry);
    const { body } = kind === 'Put' ? await client.call('DescribeTable', { TableName }) : {};
    const wanted = Key ?? Object.fromEntries(body.Table.KeySchema.map(({ AttributeName }) => [AttributeName, Item[AttributeName]]));
    items.push((await client.call('GetItem', { TableName, Key: wanted, ConsistentRead: true })).body.Item ?? null);
  }
  return { Items: items };
}

/** Performs one step on one server. After a write of items the answer also holds them as they are then, as `after`;
 * after a change of a table `settled` says whether it came to its end. */
export async function perform(client, step) {
  if (step.walk === 'pages') return pages(client, step.op, step.request);
  if (step.walk === 'statement') return statement(client, step.op, step.request);
  if (step.walk === 'segments') return segments(client, step.op, step.request);
  const answer = await client.call(step.op, withOwnToken(client, step.request));
  if (!succeeded(answer)) return answer;
  const { TableName, Key } = step.request;
  if (step.op === 'UpdateItem' || step.op === 'DeleteItem') {
    const { body } = await client.call('GetItem', { TableName, Key, ConsistentRead: true });
    answer.after = body;
  } else if (step.op === 'TransactWriteItems') {
    answer.after = await touched(client, step.request);
  } else if (step.op === 'UpdateTable' || step.op === 'CreateTable') {
    answer.settled = await settle(client, TableName);
  }
  return answer;
}

async function allTables(client) {
  const names = [];
  let start;
  do {
    const { body } = await client.call('ListTables', start ? { ExclusiveStartTableName: start } : {});
    names.push(...body.TableNames);
    start = body.LastEvaluatedTableName;
  } while (start);
  return names;
}

/** Deletes every table, protected ones too. */
export async function clear(client) {
  client.epoch = (client.epoch ?? 0) + 1;
  for (let attempt = 0; attempt < 50; attempt++) {
    const names = await allTables(client);
    if (names.length === 0) return;
    for (const TableName of names) {
      const { status } = await client.call('DeleteTable', { TableName });
      if (status !== 200) {
        await client.call('UpdateTable', { TableName, DeletionProtectionEnabled: false });
        await client.call('DescribeTable', { TableName });
      }
    }
  }
  throw new Error(`${client.url}: tables remain after deleting them 50 times: ${await allTables(client)}`);
}

/** All items of a table by the text of their key. */
export async function contents(client, table) {
  const answer = await pages(client, 'Scan', { TableName: table.name, ConsistentRead: true });
  if (!succeeded(answer)) return undefined;
  const items = new Map();
  for (const item of answer.body.Items ?? []) {
    items.set(canonical([item[table.hash.name], table.range ? item[table.range.name] : null]), item);
  }
  return items;
}

/**
 * Deletes from both servers the items in which their tables differ, after a write that only one of them accepted.
 * Returns the steps it took, for the history.
 */
export async function level(stator, local, table) {
  const [mine, theirs] = await Promise.all([contents(stator, table), contents(local, table)]);
  if (!mine || !theirs) return [];
  const steps = [];
  const keyOf = (item) => ({
    [table.hash.name]: item[table.hash.name], ...(table.range ? { [table.range.name]: item[table.range.name] } : {}),
  });
  for (const [text, item] of [...mine, ...theirs]) {
    const same = mine.has(text) && theirs.has(text) && canonical(mine.get(text)) === canonical(theirs.get(text));
    if (same) continue;
    const step = { op: 'DeleteItem', request: { TableName: table.name, Key: keyOf(item) }, table };
    steps.push(step);
    await Promise.all([perform(stator, step), perform(local, step)]);
  }
  return steps;
}
