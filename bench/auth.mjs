// CPU time of a GetItem by mode of access control: off, a verified signature of the root user, a user with a plain policy, and one
// with conditions on leading keys and attributes; the root user with an audit log, of changes and of items too. One server after the other, by turns; a request is signed once and sent many times.
//
//   node bench/auth.mjs [--rounds 4] [--requests 60000]
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { request, Server } from '../tests/sdk/harness.mjs';
import { cpuSeconds } from './process.mjs';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '4' }, requests: { type: 'string', default: '60000' } } });
const kRequests = Number(values.requests);
const kConnections = 8;
const kDepth = 8;
const kRoot = { id: 'AKIAROOTROOTROOTROOT', secret: 'root-secret' };
const kUser = { id: 'AKIAALICEALICEALICE1', secret: 'user-secret' };
const kTable = 'bench';

const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();
const hash = (text) => crypto.createHash('sha256').update(text).digest('hex');

// Headers as an SDK sends them, ten of them, signed.
function signed({ id, secret }, port, operation, body) {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const headers = {
    'amz-sdk-invocation-id': crypto.randomUUID(), 'amz-sdk-request': 'attempt=1; max=3', 'content-length': String(Buffer.byteLength(body)),
    'content-type': 'application/x-amz-json-1.0', host: `127.0.0.1:${port}`, 'x-amz-content-sha256': hash(body), 'x-amz-date': stamp,
    'x-amz-target': `DynamoDB_20120810.${operation}`,
  };
  const names = Object.keys(headers).sort();
  const canonical = ['POST', '/', '', ...names.map((name) => `${name}:${headers[name]}`), '', names.join(';'), hash(body)].join('\n');
  const scope = `${stamp.slice(0, 8)}/us-east-1/dynamodb/aws4_request`;
  const key = scope.split('/').reduce(hmac, `AWS4${secret}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', stamp, scope, hash(canonical)].join('\n')).toString('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  headers['user-agent'] = 'aws-sdk-js/3.1 ua/2.1';
  return { headers, body };
}
const bytesOf = ({ headers, body }) =>
  Buffer.from(`POST / HTTP/1.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`);


// Sends the bytes `count` times over some connections, and waits for replies of `size` bytes each.
function flood(port, bytes, size, count) {
  return Promise.all(Array.from({ length: kConnections }, () => new Promise((resolve, reject) => {
    const quota = Math.floor(count / kConnections);
    let sent = 0;
    let open = 0;
    let received = 0;
    const socket = net.connect(port, '127.0.0.1');
    const fill = () => {
      const more = Math.min(kDepth - open, quota - sent);
      if (more <= 0) return;
      sent += more;
      open += more;
      socket.write(Buffer.concat(Array(more).fill(bytes)));
    };
    socket.on('connect', fill);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      received += chunk.length;
      const whole = Math.floor(received / size);
      received -= whole * size;
      open -= whole;
      if (sent === quota && open === 0) {
        socket.destroy();
        resolve();
      } else if (open <= kDepth / 2) {
        fill();
      }
    });
  })));
}

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-auth-'));
const document = (Condition) => JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: `arn:aws:dynamodb:us-east-1:000000000000:table/${kTable}`, Condition }],
});
const policies = {
  plain: document(),
  conditions: document({ 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['${aws:username}'], 'dynamodb:Attributes': ['pk', 'a', 'b'] } }),
};
fs.writeFileSync(path.join(directory, 'secret'), kUser.secret, { mode: 0o600 });
for (const [name, text] of Object.entries(policies)) {
  fs.writeFileSync(path.join(directory, `${name}.json`), text);
  fs.writeFileSync(path.join(directory, `${name}.toml`),
    `[[users]]\nname = "alice"\naccess-key-id = "${kUser.id}"\nsecret-access-key-file = "secret"\npolicy-files = ["${name}.json"]\n`);
}

// Microseconds of CPU for a request.
async function measure(mode) {
  const args = ['--in-memory', '--io-threads=1', '--throttling=off'];
  if (mode !== 'off') args.push('--auth=enforce');
  if (mode.startsWith('audit')) args.push('--audit-log', path.join(directory, 'audit'));
  if (mode === 'audit items') args.push('--audit-data-plane');
  if (policies[mode]) args.push('--config', path.join(directory, `${mode}.toml`));
  const server = await Server.startOne({ args, env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.id, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secret } });
  const asRoot = async (operation, input) => {
    const reply = await request(server.endpoint, signed(kRoot, server.port, operation, JSON.stringify(input)));
    if (reply.status !== 200) throw new Error(reply.text);
  };
  await asRoot('CreateTable', {
    TableName: kTable, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  });
  await asRoot('PutItem', { TableName: kTable, Item: { pk: { S: 'alice' }, a: { S: 'x'.repeat(200) } } });
  const get = JSON.stringify({ TableName: kTable, Key: { pk: { S: 'alice' } }, ProjectionExpression: 'pk, a' });
  const bytes = bytesOf(signed(policies[mode] ? kUser : kRoot, server.port, 'GetItem', get));
  const reply = await new Promise((resolve, reject) => {
    const socket = net.connect(server.port, '127.0.0.1', () => socket.write(bytes));
    socket.once('data', (chunk) => { resolve(chunk); socket.destroy(); });
    socket.once('error', reject);
  });
  if (!reply.toString().startsWith('HTTP/1.1 200')) throw new Error(reply.toString());
  const before = cpuSeconds(server.child.pid);
  await flood(server.port, bytes, reply.length, kRequests);
  const used = cpuSeconds(server.child.pid) - before;
  await server.stop();
  return used / kRequests * 1e6;
}

const modes = ['off', 'root', 'plain', 'conditions', 'audit', 'audit items'];
const results = Object.fromEntries(modes.map((mode) => [mode, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const mode of modes) results[mode].push(await measure(mode));
}
for (const mode of modes) {
  const sorted = results[mode].sort((a, b) => a - b);
  const median = (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
  console.log(`${mode.padEnd(12)} ${median.toFixed(2)} us (${sorted[0].toFixed(2)} to ${sorted.at(-1).toFixed(2)})`);
}
fs.rmSync(directory, { recursive: true });
