// Accounts of stator.toml: their tables and users, restarts and kills, what IAM's calls store of them, and what becomes of them when
// they are not declared any more. The master key comes from a command.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import * as iamSdk from '@aws-sdk/client-iam';

import { binary, Server } from '../sdk/harness.mjs';

const kBlue = '111111111111', kGreen = '222222222222';
const keyOf = (name) => ({ accessKeyId: `AKIA${name.toUpperCase().repeat(4).slice(0, 16)}`, secretAccessKey: `the secret of ${name}` });
const keys = Object.fromEntries(['root', 'blue', 'alice', 'bob'].map((name) => [name, keyOf(name)]));
const environment = { STATOR_ROOT_ACCESS_KEY_ID: keys.root.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: keys.root.secretAccessKey };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-declared-'));
const dataDir = path.join(directory, 'data');
const masterKey = path.join(directory, 'master-key');
const cleanEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AWS|STATOR)_/.test(name)));
let server;

const account = (id, name) => `[[accounts]]\nid = "${id}"\nname = "${name}"\naccess-key-id = "${keyOf(name).accessKeyId}"\n`
  + `secret-access-key-file = "${name}.secret"\n`;
const user = (name, of, extra = '') => `[[users]]\nname = "${name}"\n${of ? `account = "${of}"\n` : ''}access-key-id = "${keys[name].accessKeyId}"\n`
  + `secret-access-key-file = "${name}.secret"\n${extra}`;
const kReader = 'attached-policies = ["arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess"]\n';
const kUsers = user('alice', kBlue, kReader) + user('bob', '', kReader);
const argsFor = (toml, more = []) => {
  const config = path.join(directory, 'stator.toml');
  fs.writeFileSync(config, toml);
  return ['--auth=enforce', '--config', config, '--master-key-command', `cat ${masterKey}`, ...more];
};
const start = (toml) => Server.startOne({ args: argsFor(toml), env: environment, dataDir });
const sender = (Client, sdk) => async (who, operation, input = {}) => {
  const client = new sdk[Client]({ endpoint: server.endpoint, region: 'us-east-1', credentials: typeof who === 'string' ? keys[who] : who, maxAttempts: 1 });
  try {
    return await client.send(new sdk[`${operation}Command`](input));
  } finally {
    client.destroy();
  }
};
const ddb = sender('DynamoDBClient', ddbSdk);
const iam = sender('IAMClient', iamSdk);
const refused = async (promise, name, text = '') => {
  const error = await promise.then(() => assert.fail(`expected ${name}`), (caught) => caught);
  assert.equal(error.name, name, `${error.name}: ${error.message}`);
  assert.ok(error.message.includes(text), error.message);
};
const command = (...words) => spawnSync(binary, ['iam', ...words, '--endpoint-url', server.endpoint], {
  encoding: 'utf8', env: { ...cleanEnv, AWS_ACCESS_KEY_ID: keys.root.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.root.secretAccessKey }, timeout: 120_000,
});
const accounts = () => JSON.parse(command('account', 'list').stdout).Accounts.map((one) => [one.AccountId, one.AccountName ?? '']);
const definition = {
  TableName: 'orders', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
};
const Key = { pk: { S: 'one' } };
const ownerOf = async (who) => (await ddb(who, 'GetItem', { TableName: 'orders', Key })).Item.owner.S;
const featuresOf = () => fs.readFileSync(path.join(dataDir, 'FORMAT'), 'utf8').split('\n')[1] ?? '';

before(async () => {
  assert.equal(spawnSync(binary, ['make-master-key', masterKey]).status, 0);
  for (const name of ['blue', 'alice', 'bob']) fs.writeFileSync(path.join(directory, `${name}.secret`), `${keyOf(name).secretAccessKey}\n`, { mode: 0o600 });
  server = await start(account(kBlue, 'blue') + kUsers);
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('a declared account has tables and users of its own', async () => {
  assert.ok(!featuresOf().includes('accounts'), 'nothing is stored of it yet');
  assert.deepEqual(accounts(), [[kBlue, 'blue']]);
  for (const who of ['root', 'blue']) {
    const made = await ddb(who, 'CreateTable', definition);
    assert.ok(made.TableDescription.TableArn.includes(who === 'blue' ? kBlue : '000000000000'));
    await ddb(who, 'PutItem', { TableName: 'orders', Item: { ...Key, owner: { S: who } } });
  }
  assert.ok(featuresOf().includes('accounts'), featuresOf());
  assert.equal(await ownerOf('alice'), 'blue');
  assert.equal(await ownerOf('bob'), 'root');
  await refused(ddb('alice', 'PutItem', { TableName: 'orders', Item: Key }), 'AccessDeniedException', `arn:aws:iam::${kBlue}:user/alice`);
  await refused(ddb('bob', 'GetItem', { TableName: `arn:aws:dynamodb:us-east-1:${kBlue}:table/orders`, Key }), 'AccessDeniedException');
});

test('IAM\'s calls work in it and leave what is declared', async () => {
  assert.equal((await iam('blue', 'CreateUser', { UserName: 'carol' })).User.Arn, `arn:aws:iam::${kBlue}:user/carol`);
  await refused(iam('blue', 'DeleteUser', { UserName: 'alice' }), 'UnmodifiableEntityException', 'declared in stator.toml');
  await refused(iam('blue', 'CreateUser', { UserName: 'Alice' }), 'EntityAlreadyExistsException');
  await refused(iam('blue', 'UpdateAccessKey', { AccessKeyId: keys.blue.accessKeyId, Status: 'Inactive' }), 'UnmodifiableEntityException');
  // The answer does not tell whether there is such a key of another account.
  await refused(iam('blue', 'UpdateAccessKey', { AccessKeyId: keys.root.accessKeyId, Status: 'Inactive' }), 'NoSuchEntityException');
  assert.match(command('account', 'create', '--account-id', kBlue).stderr, /EntityAlreadyExists/);
  assert.match(command('account', 'delete', '--account-id', kBlue).stderr, /declared where the server was started/);
});

test('all of it is there after a restart and a kill', async () => {
  for (const end of ['stop', 'kill']) {
    await server[end]();
    server = await start(account(kBlue, 'blue') + kUsers);
    assert.equal(await ownerOf('alice'), 'blue');
    assert.equal(await ownerOf('bob'), 'root');
    assert.deepEqual((await iam('blue', 'ListUsers')).Users.map(({ UserName }) => UserName).sort(), ['alice', 'carol']);
    assert.deepEqual(accounts(), [[kBlue, 'blue']]);
  }
});

test('an account that is not declared any more has the tables and what IAM\'s calls made, and no key', async () => {
  await server.stop();
  server = await start(account(kGreen, 'bob').replace(keys.bob.accessKeyId, 'AKIAGREENGREENGREENG'));
  for (const who of ['blue', 'alice']) await refused(ddb(who, 'ListTables'), 'UnrecognizedClientException');
  assert.deepEqual(accounts(), [[kBlue, 'blue'], [kGreen, 'bob']]);
  assert.match(command('account', 'delete', '--account-id', kBlue).stderr, /DeleteConflict/, 'it has a table');
  await server.stop();
  server = await start('');
  assert.deepEqual(accounts(), [[kBlue, 'blue']], 'nothing was stored of the other one');
  await server.stop();
  server = await start(account(kBlue, 'blue') + kUsers);
  assert.equal(await ownerOf('blue'), 'blue');
});

test('wrong declarations end the start in words', async () => {
  const cases = [
    [account('11111111111', 'blue'), /\[\[accounts\]\]: account "11111111111": the id is not twelve digits/],
    [`[[accounts]]\nid = "${kBlue}"\nkey = "x"\n`, /key: there is no such setting; id, name/],
    [`[[accounts]]\nid = "${kBlue}"\naccess-key-id = "AKIABLUEBLUEBLUEBLUE"\n`, /belong together/],
    [account(kBlue, 'blue') + account(kBlue, 'alice'), /the account ..111111111111.. occurs twice/],
    [account('000000000000', 'blue'), /it is the default one/],
    [user('alice', kGreen), /user ..alice..: there is no \[\[accounts\]\] with the id ..222222222222../],
    [account(kBlue, 'alice') + user('alice', kBlue), /occurs twice/],
  ];
  for (const [toml, text] of cases)
    await assert.rejects(Server.startOne({ args: argsFor(toml, ['--in-memory']), env: environment, dataDir: null }), text);
});

test('a command that gives no master key ends the start in words that do not show it', async () => {
  const args = (line) => ['--auth=enforce', '--in-memory', '--master-key-command', line];
  const fails = (line, text) => assert.rejects(Server.startOne({ args: args(line), env: environment, dataDir: null }), (error) => {
    assert.match(error.message, text);
    const output = error.message.slice(error.message.indexOf('\n'));
    assert.ok(!output.includes('hidden'), output);
    return true;
  });
  await fails('exit 3 # hidden', /the command of --master-key-command gave no key: it ended with 3/);
  await fails('echo x # hidden', /the output of --master-key-command is no master key/);
  await assert.rejects(Server.startOne({ args: [...args('true'), '--master-key-file', masterKey], env: environment, dataDir: null }),
    /--master-key-file and --master-key-command exclude each other/);
});
