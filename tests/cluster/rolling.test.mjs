// How clients find the servers of a store, how they leave one that is to stop, and that a restart of
// all servers, one after the other, is not seen by an SDK with its default settings behind a load
// balancer that asks /health/ready. STATOR_CLUSTER_DIR is the cluster's directory.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { Server, binary, request } from '../sdk/harness.mjs';

const { CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand, UpdateItemCommand, waitUntilTableExists } =
  createRequire(new URL('../sdk/package.json', import.meta.url))('@aws-sdk/client-dynamodb');

const conf = path.join(process.env.STATOR_CLUSTER_DIR, 'ceph.conf');
const pool = [`--ceph-conf=${conf}`, '--ceph-user=stator', '--pool=stator', `--ceph-namespace=rolling-${process.pid}`];
const addressOf = (i) => `127.0.0.${i + 1}`;
const startServer = (i) => Server.startOne({
  args: ['--engine=rados', ...pool, `--advertise=${addressOf(i)}`, `--rack=r${i}`, '--drain-time=3s'], dataDir: null, readyWithin: 60000,
});

function drain(...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, ['cluster', 'drain', ...args, ...pool], { stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => { printed += chunk; });
    child.on('error', reject);
    child.on('exit', (code) => resolve({ code, printed }));
  });
}
const page = (server, target) => request(server.endpoint, { method: 'GET', path: target });
async function nodesOf(server, query = '') {
  const { status, text } = await page(server, `/localnodes${query}`);
  assert.equal(status, 200);
  return JSON.parse(text);
}
async function until(holds, what, seconds = 60) {
  for (const end = Date.now() + seconds * 1000; !(await holds());) {
    assert.ok(Date.now() < end, `not within ${seconds} s: ${what}`);
    await delay(100);
  }
}
const lists = async (server, addresses) => (await nodesOf(server)).join() === addresses.join();

// Sends each new connection to the next server whose /health/ready says 200, as load balancers do.
class Balancer {
  ready = new Set();
  sockets = new Set();
  next = 0;
  constructor(servers) {
    this.servers = servers;
    this.listener = net.createServer((client) => this.connect(client));
    this.stopped = false;
    // One after the other of each server, so that an answer of one that is slow does not keep it from seeing that another stops.
    this.looking = Promise.all(servers.map((_, i) => this.look(i)));
  }
  async listen() {
    await new Promise((resolve) => this.listener.listen(0, '127.0.0.1', resolve));
    this.port = this.listener.address().port;
    await until(() => this.ready.size === this.servers.length, 'the balancer sees all servers');
  }
  async look(i) {
    while (!this.stopped) {
      const server = this.servers[i];
      const { status } = await page(server, '/health/ready').catch(() => ({ status: 0 }));
      if (status === 200) this.ready.add(server.port); else this.ready.delete(server.port);
      await delay(100);
    }
  }
  connect(client) {
    const ports = [...this.ready];
    if (ports.length === 0) return client.destroy();
    const server = net.connect(ports[this.next++ % ports.length], '127.0.0.1');
    for (const [from, to] of [[client, server], [server, client]]) {
      this.sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => { this.sockets.delete(from); to.destroy(); });
      from.pipe(to);
    }
    return undefined;
  }
  async close() {
    this.stopped = true;
    await this.looking;
    for (const socket of this.sockets) socket.destroy();
    this.listener.close();
  }
}

describe('several servers', () => {
  const servers = [];
  before(async () => { for (let i = 0; i < 3; ++i) servers.push(await startServer(i)); });
  after(async () => { await Promise.all(servers.map((server) => server.kill())); });

  test('/localnodes lists them all, by rack too', async () => {
    const all = [0, 1, 2].map(addressOf);
    for (const server of servers) await until(() => lists(server, all), 'all servers are listed');
    assert.deepEqual(await nodesOf(servers[0], '?rack=r1'), [addressOf(1)]);
    assert.deepEqual(await nodesOf(servers[0], '?rack=elsewhere'), []);
    assert.deepEqual(await nodesOf(servers[0], '?dc=elsewhere'), []);
    assert.equal((await page(servers[0], '/')).status, 200, 'libraries ask / whether a server is there');
  });

  test('a server that drains is not ready and not listed, but serves; and comes back', async () => {
    const asked = await drain(addressOf(1));
    assert.equal(asked.code, 0, asked.printed);
    assert.match(asked.printed, new RegExp(`^${addressOf(1)}:${servers[1].port} drains: `));
    await until(() => lists(servers[0], [addressOf(0), addressOf(2)]), 'it is not listed by another one');
    const ready = await page(servers[1], '/health/ready');
    assert.equal(ready.status, 503);
    assert.equal(ready.text, 'An operator drains this server: go to another one.\n');
    assert.equal((await page(servers[1], '/health/live')).status, 200);
    const status = await request(servers[1].endpoint, { method: 'GET', path: '/_stator/cluster', headers: { 'X-Stator-Management': 'true' } });
    const seen = JSON.parse(status.text).processes.find(({ endpoint }) => endpoint.startsWith(addressOf(1)));
    assert.equal(seen.state, 'draining');
    // One after the other, but not the last.
    assert.equal((await drain(addressOf(2))).code, 0);
    const last = await drain(addressOf(0));
    assert.equal(last.code, 1);
    assert.match(last.printed, /is the last server that does not drain/);
    const unknown = await drain('192.0.2.1');
    assert.equal(unknown.code, 1);
    assert.match(unknown.printed, /192\.0\.2\.1 is no living server of this store\. Living servers: 127/);
    for (const i of [1, 2]) assert.equal((await drain(addressOf(i), '--undo')).code, 0);
    for (const server of servers) await until(() => lists(server, [0, 1, 2].map(addressOf)), 'all are listed again');
    await until(async () => (await page(servers[1], '/health/ready')).status === 200, 'it is ready again');
  });

  test('all are restarted under load, and no error reaches the application', async () => {
    const balancer = new Balancer(servers);
    await balancer.listen();
    const client = new DynamoDBClient({
      endpoint: `http://127.0.0.1:${balancer.port}`, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    });
    const TableName = 'rolling';
    await client.send(new CreateTableCommand({
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    }));
    await waitUntilTableExists({ client, maxWaitTime: 60 }, { TableName });
    let stop = false;
    const done = { puts: 0, gets: 0, updates: 0 };
    const worker = async (n) => {
      for (let i = 0; !stop; ++i) {
        const Key = { pk: { S: `w${n}-${i % 50}` } };
        await client.send(new PutItemCommand({ TableName, Item: { ...Key, n: { N: String(i) } } }));
        done.puts++;
        const { Item } = await client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
        assert.equal(Item?.n.N, String(i), 'what was acknowledged is read, whichever server answers');
        done.gets++;
        await client.send(new UpdateItemCommand({
          TableName, Key, UpdateExpression: 'SET seen = :t', ConditionExpression: 'n = :n',
          ExpressionAttributeValues: { ':t': { BOOL: true }, ':n': { N: String(i) } },
        }));
        done.updates++;
      }
    };
    const working = Promise.all([0, 1, 2, 3].map(worker));
    let failed;
    working.catch((error) => { failed = error; });
    try {
      for (let i = 0; i < servers.length && !failed; ++i) {
        const before = done.puts;
        const { port } = servers[i];
        const { code } = await servers[i].stop();
        assert.equal(code, 0);
        assert.ok(!balancer.ready.has(port), 'the balancer left it before it stopped');
        const fresh = await startServer(i);
        servers[i] = fresh;
        balancer.servers = [...servers];
        await until(() => failed || balancer.ready.has(fresh.port), 'the new server is ready');
        await until(() => failed || done.puts > before + 20, 'the load went on');
      }
    } finally {
      stop = true;
      await working.finally(() => balancer.close());
      client.destroy();
    }
    console.log('requests during three restarts:', JSON.stringify(done));
  });
});
