// The cost of many accounts: each with a user, a policy of its own and some tables, of which one may have a policy. Measures the memory
// of a server on RocksDB, its start, and the server's CPU time of a call: of a request for an item, of a change of an identity, and of
// a change of a table's policy. The store is filled without fsync, and then served with it.
//
//   node bench/accounts.mjs [--accounts 10000] [--tables 2] [--policies 1] [--calls 200]
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

import { binary, Server } from '../tests/sdk/harness.mjs';
import { cpuSeconds } from './process.mjs';

const { values } = parseArgs({ options: {
  accounts: { type: 'string', default: '10000' }, tables: { type: 'string', default: '2' },
  policies: { type: 'string', default: '1' }, calls: { type: 'string', default: '200' },
} });
const kAccounts = Number(values.accounts), kTables = Number(values.tables), kCalls = Number(values.calls);
const kPolicies = Number(values.policies);  // tables of an account that have a policy
const kAtATime = 16;
const kRoot = { id: 'AKIAROOTROOTROOTROOT', secret: 'root-secret' };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-accounts-'));
const masterKey = path.join(directory, 'master-key');
const agent = new http.Agent({ keepAlive: true, maxSockets: kAtATime });
let server;

const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();
const hash = (text) => crypto.createHash('sha256').update(text).digest('hex');
function send({ id, secret }, service, extra, body) {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const headers = { host: `127.0.0.1:${server.port}`, 'x-amz-date': stamp, ...extra };
  const names = Object.keys(headers).sort();
  const canonical = ['POST', '/', '', ...names.map((name) => `${name}:${headers[name]}`), '', names.join(';'), hash(body)].join('\n');
  const scope = `${stamp.slice(0, 8)}/us-east-1/${service}/aws4_request`;
  const key = scope.split('/').reduce(hmac, `AWS4${secret}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', stamp, scope, hash(canonical)].join('\n')).toString('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port: server.port, method: 'POST', headers, agent }, (reply) => {
      let text = '';
      reply.on('data', (part) => { text += part; }).on('end', () => (reply.statusCode === 200 ? resolve(text) : reject(new Error(text))));
    });
    request.on('error', reject).end(body);
  });
}
const iam = (key, parameters) => send(key, 'iam', { 'content-type': 'application/x-www-form-urlencoded' },
  new URLSearchParams({ Version: '2010-05-08', ...parameters }).toString());
const ddb = (key, operation, input) => send(key, 'dynamodb', { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `DynamoDB_20120810.${operation}` }, JSON.stringify(input));
const between = (text, name) => new RegExp(`<${name}>([^<]*)`).exec(text)[1];
const arn = (account, table) => `arn:aws:dynamodb:us-east-1:${account}:table/${table}`;
const policyOf = (account, name, more = {}) => JSON.stringify({ Version: '2012-10-17', Statement: [{
  Sid: name, Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'], Resource: arn(account, name), ...more,
  Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [`tenant-${account}`] } } }] });
const tablePolicy = (account, name, round = 0) => policyOf(account, name, { Sid: `r${round}`, Principal: { AWS: `arn:aws:iam::${account}:user/app` } });

async function fill(i) {
  const account = String(100_000_000_000 + i);
  const made = await iam(kRoot, { Action: 'CreateAccount', AccountId: account });
  const key = { account, id: between(made, 'AccessKeyId'), secret: between(made, 'SecretAccessKey') };
  await iam(key, { Action: 'CreateUser', UserName: 'app' });
  await iam(key, { Action: 'PutUserPolicy', UserName: 'app', PolicyName: 'own', PolicyDocument: policyOf(account, 'orders0') });
  for (let t = 0; t < kTables; t++) {
    await ddb(key, 'CreateTable', {
      TableName: `orders${t}`, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    if (t < kPolicies) await ddb(key, 'PutResourcePolicy', { ResourceArn: arn(account, `orders${t}`), Policy: tablePolicy(account, `orders${t}`) });
  }
  return key;
}
async function start(extra = []) {
  const begin = process.hrtime.bigint();
  server = await Server.startOne({
    args: ['--auth=enforce', '--master-key-file', masterKey, '--io-threads=1', ...extra], dataDir: path.join(directory, 'data'),
    env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.id, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secret },
  });
  return Number(process.hrtime.bigint() - begin) / 1e6;
}
const megabytes = () => Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${server.child.pid}/status`, 'latin1'))[1]) / 1024);
// Milliseconds of CPU, and of time, for each of `count` calls.
async function measure(count, call) {
  const before = cpuSeconds(server.child.pid);
  const begin = process.hrtime.bigint();
  for (let i = 0; i < count; i++) await call(i);
  const ms = (seconds) => (seconds * 1000 / count).toFixed(2);
  return `${ms(cpuSeconds(server.child.pid) - before)} ms of CPU, ${ms(Number(process.hrtime.bigint() - begin) / 1e9)} ms`;
}

spawnSync(binary, ['make-master-key', masterKey]);
await start(['--durability=os']);
const keys = [];
const begin = process.hrtime.bigint();
const cpu = cpuSeconds(server.child.pid);
let next = 0;
await Promise.all(Array.from({ length: kAtATime }, async () => {
  while (next < kAccounts) {
    const i = next++;
    keys[i] = await fill(i);
    if (i % 1000 === 999) console.log(`${i + 1} accounts after ${(Number(process.hrtime.bigint() - begin) / 1e9).toFixed(0)} s, ${(cpuSeconds(server.child.pid) - cpu).toFixed(0)} s of CPU, ${megabytes()} MB`);
  }
}));
await server.stop();
const starts = [];
for (let i = 0; i < 3; i++) {
  starts.push(`${(await start()).toFixed(0)} ms (${cpuSeconds(server.child.pid).toFixed(2)} s of CPU, ${megabytes()} MB)`);
  if (i < 2) await server.stop();
}
console.log(`starts: ${starts.join(', ')}`);
if (keys.length > 0) {
  const at = (i) => keys[(i * 7919) % keys.length];
  if (kTables > 0) {
    console.log(`GetItem: ${await measure(kCalls * 20, (i) => ddb(at(i), 'GetItem', { TableName: 'orders0', Key: { pk: { S: 'x' } } }))}`);
    console.log(`ListTables: ${await measure(kCalls, (i) => ddb(at(i), 'ListTables', {}))}`);
    console.log(`PutResourcePolicy: ${await measure(kCalls, (i) => ddb(at(i), 'PutResourcePolicy', { ResourceArn: arn(at(i).account, 'orders0'), Policy: tablePolicy(at(i).account, 'orders0', i + 1) }))}`);
  }
  console.log(`CreateUser: ${await measure(kCalls, (i) => iam(at(i), { Action: 'CreateUser', UserName: `more${i}` }))}`);
  if (keys.length < 10_000) console.log(`CreateAccount: ${await measure(Math.min(kCalls, 10_000 - keys.length), (i) => iam(kRoot, { Action: 'CreateAccount', AccountId: String(900_000_000_000 + i) }))}`);
}
console.log(`${megabytes()} MB at the end`);
await server.stop();
agent.destroy();
fs.rmSync(directory, { recursive: true, force: true });
