// The past of a table under access control: actions of their own beside those of the items, keys checked alike, changes audited.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as sdk from '@aws-sdk/client-dynamodb';

import { Server, binary } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const kUsers = {
  // The items of today only.
  today: [{ Effect: 'Allow', Action: 'dynamodb:*', Resource: '*' }],
  // Everything of the past, of items of her own.
  alice: [
    { Effect: 'Allow', Action: 'dynamodb:*', Resource: '*' },
    {
      Effect: 'Allow', Action: ['stator:ReadPast', 'stator:ReadHistory', 'stator:Undo', 'stator:Forget'], Resource: '*',
      Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['alice'] } },
    },
  ],
  // The past without the items.
  clerk: [{ Effect: 'Allow', Action: 'stator:*', Resource: '*' }],
};
const keyOf = (user) => ({ accessKeyId: `AKIA${user.toUpperCase()}`.padEnd(20, 'X'), secretAccessKey: `secret-of-${user}` });
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-past-access-'));
const audit = path.join(directory, 'audit');
let server, before_, end;
// A moment with everything up to now, and nothing that comes.
async function moment() {
  const now = Date.now();
  while (Date.now() < now + 10) await delay(1);
  return new Date(now).toISOString();
}

const clientOf = (credentials, moment) => {
  const client = new sdk.DynamoDBClient({ endpoint: server.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
  if (moment) {
    client.middlewareStack.add((next) => (args) => {
      args.request.headers['X-Stator-As-Of'] = moment;
      return next(args);
    }, { step: 'build' });
  }
  return client;
};
const send = async (credentials, operation, input, moment) => {
  const client = clientOf(credentials, moment);
  try {
    return await client.send(new sdk[`${operation}Command`](input));
  } finally {
    client.destroy();
  }
};
const denied = (promise, text) => assert.rejects(promise, (error) => error.name === 'AccessDeniedException' && error.message.includes(text));
const key = (pk) => ({ pk: { S: pk } });
// The command signs with the user's key.
const stator = (user, ...words) => {
  const credentials = user === 'root' ? kRoot : keyOf(user);
  const { status, stdout, stderr } = spawnSync(binary, words, {
    encoding: 'utf8', env: {
      ...process.env, AWS_ENDPOINT_URL: server.endpoint, AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
  });
  return { status, text: stdout + stderr };
};
const recordsOf = (name) => fs.readFileSync(audit, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)).filter(({ eventName }) => eventName === name);

before(async () => {
  let users = '';
  for (const [user, Statement] of Object.entries(kUsers)) {
    fs.writeFileSync(path.join(directory, `${user}.json`), JSON.stringify({ Version: '2012-10-17', Statement }));
    fs.writeFileSync(path.join(directory, `${user}.secret`), keyOf(user).secretAccessKey, { mode: 0o600 });
    users += `[[users]]\nname = "${user}"\naccess-key-id = "${keyOf(user).accessKeyId}"\nsecret-access-key-file = "${user}.secret"\npolicy-files = ["${user}.json"]\n`;
  }
  fs.writeFileSync(path.join(directory, 'stator.toml'), users);
  server = await Server.startOne({
    args: ['--in-memory', '--auth=enforce', '--config', path.join(directory, 'stator.toml'), '--audit-log', audit, '--pitr-lag=1ms'],
    env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey },
  });
  const root = (operation, input) => send(kRoot, operation, input);
  await root('CreateTable', {
    TableName: 'Things', BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  });
  for (const pk of ['alice', 'bob']) await root('PutItem', { TableName: 'Things', Item: { ...key(pk), v: { S: 'old' } } });
  await root('UpdateContinuousBackups', { TableName: 'Things', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
  await moment();
  before_ = await moment();
  for (const pk of ['alice', 'bob']) await root('PutItem', { TableName: 'Things', Item: { ...key(pk), v: { S: 'new' } } });
  await moment();
  end = await moment();
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('the past of a table needs actions of its own, with the keys of the request', async () => {
  const get = (user, pk, at = before_) => send(user === 'root' ? kRoot : keyOf(user), 'GetItem', { TableName: 'Things', Key: key(pk) }, at);
  assert.equal((await get('root', 'bob')).Item.v.S, 'old');
  assert.equal((await get('alice', 'alice')).Item.v.S, 'old');
  await denied(get('alice', 'bob'), 'stator:ReadPast');
  assert.equal((await get('alice', 'bob', null)).Item.v.S, 'new', 'today she may');
  await denied(get('today', 'alice'), 'is not authorized to perform: stator:ReadPast');
  await denied(get('clerk', 'alice'), 'is not authorized to perform: dynamodb:GetItem');

  const alices = JSON.stringify(key('alice')), bobs = JSON.stringify(key('bob'));
  assert.match(stator('alice', 'at', 'Things', before_, alices).text, /"old"/);
  assert.match(stator('alice', 'at', 'Things', before_, bobs).text, /403: .*stator:ReadPast/);
  assert.match(stator('alice', 'history', 'Things', alices).text, /1 changes between/);
  assert.match(stator('alice', 'history', 'Things', bobs).text, /403: .*stator:ReadHistory/);
  assert.match(stator('today', 'difference', 'Things', before_, end).text, /403: .*stator:ReadHistory/);
  assert.match(stator('clerk', 'difference', 'Things', before_, end).text, /403: .*dynamodb:Scan/);
  assert.match(stator('root', 'difference', 'Things', before_, end).text, /2 items differ/);
  assert.match(stator('today', 'undo', 'Things', before_, end).text, /403: .*stator:Undo/);
  assert.match(stator('alice', 'undo', 'Things', before_, end, '--apply').text, /403: .*writes items of any key/);
  assert.match(stator('alice', 'forget', 'Things', bobs).text, /403: .*stator:Forget/);
  assert.match(stator('nobody', 'undo', 'Things', before_, end).text, /403/);
  assert.equal((await get('root', 'bob', null)).Item.v.S, 'new', 'nothing was undone');

  assert.equal(stator('root', 'undo', 'Things', before_, end, '--apply').status, 0);
  assert.equal((await get('root', 'bob', null)).Item.v.S, 'old');
  const done = recordsOf('Undo').findLast(({ errorCode }) => !errorCode);
  assert.equal(done.readOnly, false);
  assert.equal(done.resources[0].ARN, 'arn:aws:dynamodb:us-east-1:000000000000:table/Things');
  assert.ok(recordsOf('Undo').some(({ errorCode }) => errorCode === 'AccessDeniedException'));
  await send(kRoot, 'DeleteItem', { TableName: 'Things', Key: key('alice') });
  assert.match(stator('alice', 'forget', 'Things', alices).text, /records of the item's history were erased/);
  assert.equal(recordsOf('Forget').findLast(({ errorCode }) => !errorCode).userIdentity.userName, 'alice');
});
