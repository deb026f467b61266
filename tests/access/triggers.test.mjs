// Event source mappings behind access control: signatures, actions, resources, and the right to read the stream.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { SignatureV4 } from '@smithy/signature-v4';

import { request, Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'root/secret+1' };
const keys = { accessKeyId: 'AKIAOPERATOR00000000', secretAccessKey: crypto.randomBytes(20).toString('hex') };
const kPath = '/2015-03-31/event-source-mappings';
// May map streams that it may read, and see all mappings.
const operator = {
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Action: 'lambda:CreateEventSourceMapping', Resource: '*' },
    { Effect: 'Allow', Action: 'lambda:ListEventSourceMappings', Resource: '*' },
    { Effect: 'Allow', Action: 'lambda:GetEventSourceMapping', Resource: 'arn:aws:lambda:us-east-1:000000000000:event-source-mapping:*' },
    { Effect: 'Allow', Action: 'dynamodb:GetRecords', Resource: 'arn:aws:dynamodb:us-east-1:000000000000:table/open/stream/*' },
  ],
};

class Sha256 {
  constructor(secret) { this.hash = secret ? crypto.createHmac('sha256', secret) : crypto.createHash('sha256'); }
  update(data) { this.hash.update(data); }
  async digest() { return new Uint8Array(this.hash.digest()); }
}

let server, directory;
const arns = {};

async function call(credentials, service, { method = 'POST', path: target = '/', body, headers = {} }) {
  const url = new URL(server.endpoint);
  const text = body === undefined ? '' : JSON.stringify(body);
  const signer = new SignatureV4({ credentials, region: 'us-east-1', service, sha256: Sha256 });
  const signed = await signer.sign({
    method, protocol: 'http:', hostname: url.hostname, port: Number(url.port), path: target, query: {},
    headers: { host: url.host, 'content-type': 'application/json', ...headers }, body: text,
  });
  return request(server.endpoint, { method, path: target, headers: signed.headers, body: text });
}
const create = (who, FunctionName, table) => call(who, 'lambda', {
  path: kPath, body: { FunctionName, EventSourceArn: arns[table], StartingPosition: 'LATEST' },
});
const refused = (reply, text) => {
  assert.equal(reply.status, 403, reply.text);
  assert.equal(reply.headers['x-amzn-errortype'], 'AccessDeniedException');
  assert.ok(reply.json().message.includes(text), reply.text);
};

before(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-access-'));
  fs.writeFileSync(path.join(directory, 'operator.secret'), `${keys.secretAccessKey}\n`, { mode: 0o600 });
  fs.writeFileSync(path.join(directory, 'operator.json'), JSON.stringify(operator));
  fs.writeFileSync(path.join(directory, 'stator.toml'), `
    [[users]]
    name = "operator"
    access-key-id = "${keys.accessKeyId}"
    secret-access-key-file = "operator.secret"
    policy-files = ["operator.json"]
    [[functions]]
    name = "*"
    lambda = "http://127.0.0.1:1"
  `);
  server = await Server.start({
    args: ['--in-memory', '--config', path.join(directory, 'stator.toml'), '--auth=enforce', `--audit-log=${directory}/audit.log`],
    env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey },
  });
  for (const TableName of ['open', 'closed']) {
    const made = await call(kRoot, 'dynamodb', {
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'DynamoDB_20120810.CreateTable' },
      body: {
        TableName, BillingMode: 'PAY_PER_REQUEST', StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      },
    });
    assert.equal(made.status, 200, made.text);
    arns[TableName] = made.json().TableDescription.LatestStreamArn;
  }
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('a mapping needs its action, and the right to read the stream', async () => {
  refused(await create(keys, 'allowed', 'closed'), 'dynamodb:GetRecords');
  const made = await create(keys, 'allowed', 'open');
  assert.equal(made.status, 202, made.text);
  const { UUID } = made.json();
  const at = `${kPath}/${UUID}`;
  assert.equal((await call(keys, 'lambda', { method: 'GET', path: at })).status, 200);
  assert.equal((await call(keys, 'lambda', { method: 'GET', path: kPath })).json().EventSourceMappings.length, 1);
  refused(await call(keys, 'lambda', { method: 'PUT', path: at, body: { Enabled: false } }), 'lambda:UpdateEventSourceMapping');
  refused(await call(keys, 'lambda', { method: 'DELETE', path: at }), 'lambda:DeleteEventSourceMapping');
  assert.equal((await call(kRoot, 'lambda', { method: 'DELETE', path: at })).status, 202);
  const lines = fs.readFileSync(path.join(directory, 'audit.log'), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  const changes = lines.filter((line) => line.eventSource === 'lambda.amazonaws.com' && line.eventName === 'CreateEventSourceMapping');
  assert.deepEqual(changes.map((line) => line.errorCode), ['AccessDeniedException', undefined]);
});

test('a call must be signed, for lambda', async () => {
  const unsigned = await request(server.endpoint, { method: 'GET', path: kPath });
  assert.ok(unsigned.status === 400 || unsigned.status === 403, unsigned.text);
  assert.match((await call(keys, 'dynamodb', { method: 'GET', path: kPath })).text, /Signature|scope/);
});

test('the report of triggers is an action too', async () => {
  const report = (who) => call(who, 'stator', { method: 'GET', path: '/_stator/triggers', headers: { 'x-stator-management': 'true' } });
  assert.equal((await report(keys)).status, 403);
  assert.equal((await report(kRoot)).status, 200);
});
