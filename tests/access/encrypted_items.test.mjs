// Items that their tenants encrypt, in the pattern of the AWS Database Encryption SDK: attributes encrypted and signed on the client
// (aws_dbe_head, aws_dbe_foot), found by beacons, short keyed hashes that are signed with the item (aws_dbe_b_...). The server stores
// and finds them unchanged, holds each tenant to its own leading key, and learns none of the plain texts.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as ddbSdk from '@aws-sdk/client-dynamodb';

import { Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const kTable = 'customers';
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-encrypted-'));
const dataDir = path.join(directory, 'data');
const S = (text) => ({ S: text });
const B = (bytes) => ({ B: new Uint8Array(bytes) });
let server;

const tenants = Object.fromEntries(['acme', 'zenith'].map((name) => [name, {
  name, keys: { accessKeyId: `AKIA${name.toUpperCase().padEnd(16, '0')}`, secretAccessKey: `${name}secret` },
  wrapping: crypto.randomBytes(32), beacon: crypto.randomBytes(48), signing: crypto.generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
}]));

// ---- what the client library does
const kEncrypted = ['email', 'card', 'notes'];
const kBeaconBits = 4;  // so short that different values share one: the client sorts them out
const hash = (key, text) => crypto.createHmac('sha384', key).update(text).digest();
const beaconOf = (tenant, name, value) => (hash(hash(tenant.beacon, name), value).at(-1) & ((1 << kBeaconBits) - 1)).toString(16);
const seal = (key, plain, aad) => {
  const nonce = crypto.randomBytes(12);
  const cipher = crypto.createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
};
const open = (key, sealed, aad) => {
  const bytes = Buffer.from(sealed);
  const cipher = crypto.createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(Buffer.from(aad)).setAuthTag(bytes.subarray(-16));
  return Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()]);
};
const text = (value) => JSON.stringify(value, (_, part) => (part instanceof Uint8Array ? Buffer.from(part).toString('base64') : part));
const fieldKey = (dataKey, name) => Buffer.from(crypto.hkdfSync('sha512', dataKey, '', `field ${name}`, 32));
const signedText = (item) => Object.keys(item).filter((name) => name !== 'aws_dbe_foot').sort().map((name) => `${name}=${text(item[name])}\n`).join('');
function encrypt(tenant, plain) {
  const dataKey = crypto.randomBytes(32);
  const item = { aws_dbe_v_1: S(' ') };
  for (const [name, value] of Object.entries(plain)) item[name] = kEncrypted.includes(name) ? B(seal(fieldKey(dataKey, name), text(value), name)) : value;
  item.aws_dbe_b_email = S(beaconOf(tenant, 'email', plain.email.S));
  item.aws_dbe_head = B(seal(tenant.wrapping, dataKey, 'data key'));
  item.aws_dbe_foot = B(crypto.sign('sha384', Buffer.from(signedText(item)), tenant.signing.privateKey));
  return item;
}
function decrypt(tenant, item) {
  assert.ok(crypto.verify('sha384', Buffer.from(signedText(item)), tenant.signing.publicKey, item.aws_dbe_foot.B), 'the signature does not verify');
  const dataKey = open(tenant.wrapping, item.aws_dbe_head.B, 'data key');
  const plain = {};
  for (const [name, value] of Object.entries(item)) {
    if (name.startsWith('aws_dbe_')) continue;
    plain[name] = kEncrypted.includes(name) ? JSON.parse(open(fieldKey(dataKey, name), value.B, name)) : value;
  }
  return plain;
}

// ---- the tests
const as = (tenant) => {
  const client = new ddbSdk.DynamoDBClient({ endpoint: server.endpoint, region: 'us-east-1', credentials: tenant?.keys ?? kRoot, maxAttempts: 1 });
  return new Proxy({}, { get: (_, operation) => (input) => client.send(new ddbSdk[`${operation}Command`](input)) });
};
const emailOf = (i) => `person${i}@example.com`;
const plainOf = (tenant, i) => ({
  tenant: S(tenant.name), id: S(String(i).padStart(3, '0')), email: S(emailOf(i)), card: { N: `${4000 + i}` }, since: { N: `${2000 + i}` },
  notes: { M: { vip: { BOOL: i % 2 === 0 }, tags: { L: [S('a'), { NULL: true }] } } },
});
const kItems = 40;
const stored = {};
async function start() {
  server = await Server.startOne({
    args: ['--auth=enforce', '--config', path.join(directory, 'stator.toml')], dataDir,
    env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey },
  });
}
// Finds customers by their email: a query of the beacon, of which the client keeps what it meant.
async function find(tenant, email) {
  const { Items } = await as(tenant).Query({
    TableName: kTable, IndexName: 'byEmail', KeyConditionExpression: 'tenant = :t AND aws_dbe_b_email = :b',
    ExpressionAttributeValues: { ':t': S(tenant.name), ':b': S(beaconOf(tenant, 'email', email)) },
  });
  const all = Items.map((item) => decrypt(tenant, item));
  return { candidates: all.length, found: all.filter((plain) => plain.email.S === email) };
}
const digest = (item) => crypto.createHash('sha256').update(`${signedText(item)}${text(item.aws_dbe_foot)}`).digest('hex');
const byId = (items) => Object.fromEntries(items.map((item) => [`${item.tenant.S}/${item.id.S}`, digest(item)]));

before(async () => {
  let toml = '';
  for (const { name, keys } of Object.values(tenants)) {
    fs.writeFileSync(path.join(directory, `${name}.secret`), keys.secretAccessKey, { mode: 0o600 });
    toml += `[[users]]\nname = "${name}"\naccess-key-id = "${keys.accessKeyId}"\nsecret-access-key-file = "${name}.secret"\npolicy-files = ["own.json"]\n`;
  }
  const arn = `arn:aws:dynamodb:us-east-1:000000000000:table/${kTable}`;
  fs.writeFileSync(path.join(directory, 'own.json'), JSON.stringify({ Version: '2012-10-17', Statement: {
    Effect: 'Allow', Resource: [arn, `${arn}/index/*`], Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['${aws:username}'] } },
    Action: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'ConditionCheckItem'].map((name) => `dynamodb:${name}`),
  } }));
  fs.writeFileSync(path.join(directory, 'stator.toml'), toml);
  await start();
  await as().CreateTable({
    TableName: kTable, BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'tenant', KeyType: 'HASH' }, { AttributeName: 'id', KeyType: 'RANGE' }],
    AttributeDefinitions: ['tenant', 'id', 'aws_dbe_b_email'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    GlobalSecondaryIndexes: [{
      IndexName: 'byEmail', KeySchema: [{ AttributeName: 'tenant', KeyType: 'HASH' }, { AttributeName: 'aws_dbe_b_email', KeyType: 'RANGE' }],
      Projection: { ProjectionType: 'ALL' },
    }],
  });
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('encrypted items are written by every operation, and come back as they are', async () => {
  for (const tenant of Object.values(tenants)) {
    const items = Array.from({ length: kItems }, (_, i) => encrypt(tenant, plainOf(tenant, i)));
    Object.assign(stored, byId(items));
    const own = as(tenant);
    await own.PutItem({ TableName: kTable, Item: items[0], ConditionExpression: 'attribute_not_exists(id)' });
    await own.BatchWriteItem({ RequestItems: { [kTable]: items.slice(1, 21).map((Item) => ({ PutRequest: { Item } })) } });
    await own.TransactWriteItems({ TransactItems: items.slice(21).map((Item) => ({ Put: { TableName: kTable, Item } })) });
    const { Item } = await own.GetItem({ TableName: kTable, Key: { tenant: S(tenant.name), id: S('007') }, ConsistentRead: true });
    assert.deepEqual(decrypt(tenant, Item), plainOf(tenant, 7));
  }
  const { Items } = await as().Scan({ TableName: kTable });
  assert.deepEqual(byId(Items), stored);
  const seen = Buffer.concat(Items.flatMap((item) => Object.values(item).map((value) => Buffer.from(value.B ?? value.S ?? value.N)))).toString('latin1');
  assert.ok(!seen.includes('@example.com'), 'the server was told no plain text');
});

test('beacons find them, with the others that share one', async () => {
  const { acme } = tenants;
  let shared = 0;
  for (let i = 0; i < kItems; i++) {
    const { candidates, found } = await find(acme, emailOf(i));
    assert.deepEqual(found, [plainOf(acme, i)]);
    if (candidates > 1) shared++;
  }
  assert.ok(shared > 0, '40 emails have 16 beacons');
  assert.deepEqual((await find(acme, 'nobody@example.com')).found, []);
});

test('a tenant finds no items of another one, whose beacons and keys are others', async () => {
  const { acme, zenith } = tenants;
  const foreign = {
    TableName: kTable, IndexName: 'byEmail', KeyConditionExpression: 'tenant = :t AND aws_dbe_b_email = :b',
    ExpressionAttributeValues: { ':t': S('zenith'), ':b': S(beaconOf(zenith, 'email', emailOf(1))) },
  };
  await assert.rejects(as(acme).Query(foreign), { name: 'AccessDeniedException' });
  await assert.rejects(as(acme).GetItem({ TableName: kTable, Key: { tenant: S('zenith'), id: S('001') } }), { name: 'AccessDeniedException' });
  const { Items } = await as().Query(foreign);
  assert.throws(() => decrypt(acme, Items[0]), /signature/);
});

test('a changed attribute or beacon is found out by the client', async () => {
  const { acme } = tenants;
  const Key = { tenant: S('acme'), id: S('003') };
  for (const [name, value] of [['since', { N: '1' }], ['aws_dbe_b_email', S('f0')], ['card', B(Buffer.alloc(40))]]) {
    const { Item } = await as(acme).GetItem({ TableName: kTable, Key });
    await as().UpdateItem({ TableName: kTable, Key, UpdateExpression: 'SET #n = :v', ExpressionAttributeNames: { '#n': name }, ExpressionAttributeValues: { ':v': value } });
    const changed = await as(acme).GetItem({ TableName: kTable, Key });
    assert.throws(() => decrypt(acme, changed.Item), /signature/);
    await as(acme).PutItem({ TableName: kTable, Item });
  }
  assert.deepEqual((await find(acme, emailOf(3))).found, [plainOf(acme, 3)]);
});

test('they are the same after a kill', async () => {
  await server.kill();
  await start();
  const { Items } = await as().Scan({ TableName: kTable });
  assert.deepEqual(byId(Items), stored);
  assert.deepEqual((await find(tenants.zenith, emailOf(9))).found, [plainOf(tenants.zenith, 9)]);
});
