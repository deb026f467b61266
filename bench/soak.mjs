// ./dev bench soak [--seconds 3600] [--every 60] [--without NAMES] [--json FILE]: honest clients and, every minute, one of the attacks of hostile.mjs,
// on one server with a store on disk. The honest clients keep what they were promised and compare every answer with it. Memory,
// descriptors and threads are looked at every 10 seconds. It fails if an answer is wrong, a promise is lost (also by the restart at
// the end), memory is beyond its bound, or what the quiet server holds grows.
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { call, request, Server } from '../tests/sdk/harness.mjs';
import { openDescriptors, residentBytes } from '../tests/hostile/judge.mjs';

const kMiB = 1 << 20;
const kTable = 'soak';
const kClients = 4;
const kKeys = 500; // of each client
const kSampleMs = 10000;
// Growth of the quiet server's memory, from when it had seen every attack once to the end.
const kGrowthMb = 30;

// ---- an honest client: its own keys, so that it knows what every read has to answer

const keyOf = (client, n) => ({ pk: { S: `client-${client}-${Math.floor(n / 20)}` }, sk: { N: String(n) } });

class Client {
  constructor(endpoint, client) {
    Object.assign(this, { endpoint, client, known: new Map(), unsure: new Set(), round: 0 });
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    this.window = { requests: 0, refused: 0, errors: 0, worst: 0 };
    this.wrong = [];
  }

  // Null: no answer that says what happened.
  async ask(operation, body) {
    const started = performance.now();
    this.window.requests++;
    try {
      const reply = await call(this.endpoint, operation, body, { agent: this.agent, timeout: 60000 });
      if (reply.status === 200) return reply.json();
      if (reply.status === 503) this.window.refused++;
      else this.fail(`${operation}: ${reply.status} ${reply.text.slice(0, 200)}`);
      // A 503 changed nothing; anything else may have.
      return reply.status === 503 ? undefined : null;
    } catch (error) {
      this.fail(`${operation}: ${error.message}`);
      return null;
    } finally {
      this.window.worst = Math.max(this.window.worst, performance.now() - started);
    }
  }
  fail(text) {
    this.window.errors++;
    if (this.wrong.length < 20) this.wrong.push(text);
  }
  item(n) { return { ...keyOf(this.client, n), v: { N: String(++this.round) }, data: { S: String(this.round).padEnd(200 + (this.round * 7919) % 4000, 'x') } }; }
  wrote(n, answer, item) {
    if (answer === null) this.unsure.add(n);
    else if (answer !== undefined) {
      this.unsure.delete(n);
      this.known.set(n, item);
    }
  }
  check(n, item, how) {
    if (this.unsure.has(n)) return;
    const want = this.known.get(n);
    if (want?.v.N !== item?.v.N || want?.data.S !== item?.data.S)
      this.fail(`${how} of ${n}: ${item?.v.N ?? 'nothing'} in place of ${want?.v.N ?? 'nothing'}`);
  }

  async step(random) {
    const n = random(kKeys);
    const Key = keyOf(this.client, n);
    const kind = random(100);
    if (kind < 40) {
      const read = await this.ask('GetItem', { TableName: kTable, Key, ConsistentRead: true });
      if (read) this.check(n, read.Item, 'GetItem');
    } else if (kind < 60) {
      const Item = this.item(n);
      this.wrote(n, await this.ask('PutItem', { TableName: kTable, Item }), Item);
    } else if (kind < 68) {
      const item = this.item(n);
      this.wrote(n, await this.ask('UpdateItem', {
        TableName: kTable, Key, UpdateExpression: 'SET v = :v, #d = :d', ExpressionAttributeNames: { '#d': 'data' },
        ExpressionAttributeValues: { ':v': item.v, ':d': item.data },
      }), item);
    } else if (kind < 72) {
      this.wrote(n, await this.ask('DeleteItem', { TableName: kTable, Key }), undefined);
    } else if (kind < 80) {
      const both = [n, (n + 1) % kKeys].map((each) => [each, this.item(each)]);
      const answer = await this.ask('TransactWriteItems', { TransactItems: both.map(([, Item]) => ({ Put: { TableName: kTable, Item } })) });
      for (const [each, item] of both) this.wrote(each, answer, item);
    } else if (kind < 85) {
      const some = [0, 1, 2, 3].map((i) => (n + i) % kKeys).map((each) => [each, this.item(each)]);
      const answer = await this.ask('BatchWriteItem', { RequestItems: { [kTable]: some.map(([, Item]) => ({ PutRequest: { Item } })) } });
      const left = new Set((answer?.UnprocessedItems?.[kTable] ?? []).map((one) => Number(one.PutRequest.Item.sk.N)));
      for (const [each, item] of some) if (!left.has(each)) this.wrote(each, answer, item);
    } else if (kind < 97) {
      const first = Math.floor(n / 20) * 20;
      const page = await this.ask('Query', {
        TableName: kTable, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': Key.pk }, ConsistentRead: true,
      });
      if (!page) return;
      const found = new Map(page.Items.map((item) => [Number(item.sk.N), item]));
      const end = page.LastEvaluatedKey === undefined ? first + 20 : Number(page.LastEvaluatedKey.sk.N) + 1;
      for (let each = first; each < end; each++) this.check(each, found.get(each), 'Query');
    } else {
      const page = await this.ask('Scan', { TableName: kTable, FilterExpression: 'begins_with(pk, :p)', ExpressionAttributeValues: { ':p': { S: `client-${this.client}-` } }, Limit: 400 });
      for (const item of page?.Items ?? []) this.check(Number(item.sk.N), item, 'Scan');
    }
  }

  // Every item, one by one.
  async checkAll() {
    for (let n = 0; n < kKeys; n++) {
      const read = await this.ask('GetItem', { TableName: kTable, Key: keyOf(this.client, n), ConsistentRead: true });
      if (read) this.check(n, read.Item, 'GetItem at the end');
    }
  }
}

if (!isMainThread && workerData?.soak) {
  let state = (workerData.client + 1) * 2654435761 >>> 0;
  const random = (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state = (state ^ (state << 5)) >>> 0;
    return state % below;
  };
  const client = new Client(workerData.endpoint, workerData.client);
  let going = true;
  let running = Promise.resolve();
  parentPort.on('message', async (message) => {
    if (message.kind === 'window') {
      parentPort.postMessage({ ...client.window, wrong: client.wrong });
      client.window = { requests: 0, refused: 0, errors: 0, worst: 0 };
      return;
    }
    if (message.kind === 'stop') {
      going = false;
      await running;
      parentPort.postMessage('stopped');
      return;
    }
    client.endpoint = message.endpoint;
    client.agent.destroy();
    client.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    await client.checkAll();
    parentPort.postMessage({ ...client.window, wrong: client.wrong, known: client.known.size, unsure: client.unsure.size });
    parentPort.close();
  });
  running = (async () => {
    while (going) {
      await client.step(random);
      await after(10);
    }
  })();
}

// ---- the conductor

const threadsOf = (server) => readdirSync(`/proc/${server.child.pid}/task`).length;
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const metric = (text, name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? NaN);

async function windowOf(workers) {
  const parts = await Promise.all(workers.map(async (worker) => {
    const said = once(worker, 'message');
    worker.postMessage({ kind: 'window' });
    return (await said)[0];
  }));
  return {
    requests: parts.reduce((sum, part) => sum + part.requests, 0), refused: parts.reduce((sum, part) => sum + part.refused, 0),
    errors: parts.reduce((sum, part) => sum + part.errors, 0), worst: Math.max(...parts.map((part) => part.worst)),
    wrong: parts.flatMap((part) => part.wrong),
  };
}

export async function main(argv) {
  const { attacks, kBudgetMb, kInflightMb, prepare } = await import('./hostile.mjs');
  const { values: options } = parseArgs({ args: argv, options: {
    seconds: { type: 'string', default: '3600' }, every: { type: 'string', default: '60' }, without: { type: 'string', default: '' }, json: { type: 'string' },
  } });
  const seconds = Number(options.seconds);
  const every = Number(options.every);
  const args = ['--io-threads', '2', '--memory-budget-mb', String(kBudgetMb), '--max-inflight-mb', String(kInflightMb)];
  let server = await Server.startOne({ args });
  const { dataDir } = server;
  await prepare(server);
  const created = await call(server.endpoint, 'CreateTable', {
    TableName: kTable, BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' }],
  });
  if (created.status !== 200) throw new Error(created.text);
  const workers = Array.from({ length: kClients }, (_, client) =>
    new Worker(new URL(import.meta.url), { workerData: { soak: true, endpoint: server.endpoint, client } }));

  const started = Date.now();
  const elapsed = () => (Date.now() - started) / 1000;
  const names = Object.keys(attacks).filter((name) => name !== 'calm' && !options.without.split(',').includes(name));
  const samples = [];
  const played = [];
  let peak = 0;
  let attacking = '';
  let quietSince = Date.now();
  let ended = false;
  const watching = setInterval(() => {
    try { peak = Math.max(peak, residentBytes(server)); } catch { /* it has ended */ }
  }, 20);
  const sampling = (async () => {
    while (!ended) {
      await after(kSampleMs);
      const window = await windowOf(workers);
      const page = await request(server.endpoint, { method: 'GET', path: '/metrics', timeout: 30000 }).catch(() => ({ text: '' }));
      samples.push({
        second: Math.round(elapsed()), attack: attacking, quietMs: attacking === '' ? Date.now() - quietSince : 0,
        rssMb: residentBytes(server) / kMiB, inflightMb: metric(page.text, 'stator_inflight_bytes') / kMiB,
        descriptors: openDescriptors(server), threads: threadsOf(server),
        requests: window.requests, refused: window.refused, errors: window.errors, worstMs: Math.round(window.worst), wrong: window.wrong,
      });
      if (options.json) writeFileSync(options.json, `${JSON.stringify({ samples, played, peakMb: peak / kMiB })}\n`);
    }
  })();
  for (let i = 0; elapsed() < seconds - every; i++) {
    await after(every * 1000);
    attacking = names[i % names.length];
    const began = Date.now();
    await attacks[attacking](server);
    played.push({ name: attacking, second: Math.round(elapsed()), seconds: (Date.now() - began) / 1000 });
    attacking = '';
    quietSince = Date.now();
  }
  await after(Math.max(0, seconds - elapsed()) * 1000);
  ended = true;
  await sampling;
  clearInterval(watching);

  // Every promise holds after kill -9.
  await Promise.all(workers.map((worker) => {
    const said = once(worker, 'message');
    worker.postMessage({ kind: 'stop' });
    return said;
  }));
  await server.kill();
  server = await Server.startOne({ args, dataDir, readyWithin: 60000 });
  const last = await Promise.all(workers.map(async (worker) => {
    const said = once(worker, 'message');
    worker.postMessage({ kind: 'end', endpoint: server.endpoint });
    return (await said)[0];
  }));
  await server.stop();

  const sum = (name) => samples.reduce((total, sample) => total + sample[name], 0);
  // An attack's memory goes back within 20 seconds.
  const quiet = samples.filter((sample) => sample.quietMs > 20000);
  const round = names.length * every;
  const early = quiet.filter((sample) => sample.second > round && sample.second <= 2 * round + every);
  const late = quiet.slice(-Math.max(3, early.length));
  const growth = early.length === 0 ? NaN : median(late.map((s) => s.rssMb)) - median(early.map((s) => s.rssMb));
  const wrong = [...new Set([...samples.flatMap((sample) => sample.wrong), ...last.flatMap((part) => part.wrong)])];
  const limitMb = kBudgetMb + kInflightMb + 200;
  console.log(`${Math.round(elapsed())} s, ${played.length} attacks, ${sum('requests')} honest requests, ${sum('refused')} refused with 503, ` +
    `${sum('errors')} failed or wrong, worst ${Math.max(...samples.map((s) => s.worstMs))} ms`);
  console.log(`memory: quiet ${Math.min(...quiet.map((s) => s.rssMb)).toFixed(0)} to ${Math.max(...quiet.map((s) => s.rssMb)).toFixed(0)} MB, ` +
    `peak ${(peak / kMiB).toFixed(0)} of ${limitMb} MB, growth of the quiet server ${growth.toFixed(1)} MB`);
  console.log(`descriptors ${Math.min(...quiet.map((s) => s.descriptors))} to ${Math.max(...quiet.map((s) => s.descriptors))}, ` +
    `threads ${Math.min(...samples.map((s) => s.threads))} to ${Math.max(...samples.map((s) => s.threads))} (quiet)`);
  console.log(`after kill -9: ${last.reduce((total, part) => total + part.known, 0)} items as promised, ` +
    `${last.reduce((total, part) => total + part.unsure, 0)} of unknown outcome`);
  for (const text of wrong.slice(0, 20)) console.log(`wrong: ${text}`);
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ samples, played, peakMb: peak / kMiB, growthMb: growth, wrong, last })}\n`);
  return wrong.length > 0 || peak / kMiB > limitMb || growth > kGrowthMb ? 1 : 0;
}
