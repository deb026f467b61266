// AssumeRoleWithWebIdentity, with an identity provider that the test makes: the SDK's fromWebToken and fromTokenFile get credentials for
// a tenant, who is held to its own keys; forged tokens get none; the server is killed and fetches the keys anew; the provider changes its
// keys, hangs, and leads elsewhere.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import * as iamSdk from '@aws-sdk/client-iam';
import * as stsSdk from '@aws-sdk/client-sts';
import { fromTokenFile, fromWebToken } from '@aws-sdk/credential-provider-web-identity';

import { watchOf } from '../hostile/judge.mjs';
import { binary, request, Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const kRole = 'arn:aws:iam::000000000000:role/tenant';
const kTable = 'arn:aws:dynamodb:us-east-1:000000000000:table/orders';
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-web-identity-'));
const masterKey = path.join(directory, 'master-key');
const dataDir = path.join(directory, 'data');
const auditLog = path.join(directory, 'audit.log');
let server;

// A provider over HTTP on loopback, or over TLS with `tls`.
class Provider {
  static async start(tls) {
    const provider = new Provider();
    provider.asked = [];
    provider.hangs = false;
    provider.moved = '';
    provider.keys = [];
    const answer = (incoming, reply) => {
      provider.asked.push(incoming.url);
      if (provider.hangs) return;
      if (provider.moved !== '') {
        reply.writeHead(302, { Location: provider.moved }).end();
        return;
      }
      const documents = {
        '/realm/.well-known/openid-configuration': { issuer: provider.issuer, jwks_uri: `${provider.origin}/keys`, extra: [1, { a: null }] },
        '/keys': { keys: provider.keys.map(({ jwk }) => jwk) },
      };
      const document = documents[incoming.url];
      reply.writeHead(document === undefined ? 404 : 200, { 'Content-Type': 'application/json' }).end(JSON.stringify(document ?? {}));
    };
    provider.server = tls ? https.createServer(tls, answer) : http.createServer(answer);
    provider.server.listen(0, '127.0.0.1');
    await once(provider.server, 'listening');
    const { port } = provider.server.address();
    provider.name = `localhost:${port}/realm`;
    provider.origin = `${tls ? 'https' : 'http'}://localhost:${port}`;
    provider.issuer = `${provider.origin}/realm`;
    provider.arn = `arn:aws:iam::000000000000:oidc-provider/${provider.name}`;
    provider.addKey('first', 'RS256');
    return provider;
  }
  addKey(kid, alg) {
    const pair = alg === 'RS256' ? crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }) : crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.keys.push({ kid, alg, secret: pair.privateKey, jwk: { ...pair.publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } });
  }
  token(claims = {}, header = {}, key = this.keys[0]) {
    const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const now = Math.floor(Date.now() / 1000);
    const text = `${encode({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header })}.` +
      encode({ iss: this.issuer, aud: 'orders-app', sub: 'acme', iat: now, exp: now + 600, ...claims });
    return `${text}.${crypto.sign('sha256', Buffer.from(text), { key: key.secret, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  }
  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const options = (credentials) => ({ endpoint: server.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
const operations = (client, sdk) => new Proxy({}, {
  get: (_, operation) => (input = {}) => client.send(new sdk[`${operation}Command`](input)),
});
const iamAs = (keys) => operations(new iamSdk.IAMClient(options(keys)), iamSdk);
const stsAs = (keys) => operations(new stsSdk.STSClient(options(keys)), stsSdk);
const ddbAs = (keys) => operations(new ddbSdk.DynamoDBClient(options(keys)), ddbSdk);
const policy = (...statements) => JSON.stringify({ Version: '2012-10-17', Statement: statements });
// The call is unsigned: an SDK without credentials sends it.
const assume = (token, more = {}) => stsAs({ accessKeyId: 'nobody', secretAccessKey: 'nothing' }).AssumeRoleWithWebIdentity({
  RoleArn: kRole, RoleSessionName: 'session', WebIdentityToken: token, ...more,
});
async function refused(promise, name, text = '') {
  const error = await promise.then(() => assert.fail(`expected ${name}`), (caught) => caught);
  assert.equal(error.name, name, `${error.name}: ${error.message}`);
  assert.ok(error.message.includes(text), error.message);
}
const start = (env = {}) => Server.start({
  args: ['--auth=enforce', '--master-key-file', masterKey, '--audit-log', auditLog],
  env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey, ...env },
  dataDir,
});
const trust = (provider, condition = { StringEquals: { [`${provider.name}:aud`]: 'orders-app' } }) => policy({
  Effect: 'Allow', Principal: { Federated: provider.arn }, Action: 'sts:AssumeRoleWithWebIdentity', Condition: condition,
});

let provider;
before(async () => {
  assert.equal(spawnSync(binary, ['make-master-key', masterKey]).status, 0);
  provider = await Provider.start();
  server = await start();
  await ddbAs(kRoot).CreateTable({
    TableName: 'orders', BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'tenant', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'tenant', AttributeType: 'S' }],
  });
  const iam = iamAs(kRoot);
  const made = await iam.CreateOpenIDConnectProvider({ Url: provider.issuer, ClientIDList: ['orders-app'], ThumbprintList: ['a'.repeat(40)] });
  assert.equal(made.OpenIDConnectProviderArn, provider.arn);
  await iam.CreateRole({ RoleName: 'tenant', AssumeRolePolicyDocument: trust(provider) });
  await iam.PutRolePolicy({
    RoleName: 'tenant', PolicyName: 'own-orders',
    PolicyDocument: policy({
      Effect: 'Allow', Action: ['dynamodb:PutItem', 'dynamodb:GetItem'], Resource: kTable,
      Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [`\${${provider.name}:sub}`] } },
    }),
  });
});
after(async () => {
  provider?.stop();
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

async function holdsToOwnKeys(credentials, tenant, rival) {
  const ddb = ddbAs(credentials);
  await ddb.PutItem({ TableName: 'orders', Item: { tenant: { S: tenant } } });
  assert.equal((await ddb.GetItem({ TableName: 'orders', Key: { tenant: { S: tenant } } })).Item.tenant.S, tenant);
  await refused(ddb.GetItem({ TableName: 'orders', Key: { tenant: { S: rival } } }), 'AccessDeniedException', 'dynamodb:GetItem');
}

test('the SDK gets credentials for a token, and the tenant is held to its own keys', async () => {
  const clientConfig = { endpoint: server.endpoint, region: 'us-east-1' };
  await holdsToOwnKeys(fromWebToken({ webIdentityToken: provider.token(), roleArn: kRole, roleSessionName: 'acme', clientConfig }), 'acme', 'rival');
  const file = path.join(directory, 'token');
  fs.writeFileSync(file, provider.token({ sub: 'rival' }));
  await holdsToOwnKeys(fromTokenFile({ webIdentityTokenFile: file, roleArn: kRole, roleSessionName: 'rival', clientConfig }), 'rival', 'acme');
  assert.equal(provider.asked.length, 2, 'the keys are fetched once');
});

test('the answer names the subject, the audience and the issuer', async () => {
  const answer = await assume(provider.token({ amr: ['pwd'] }), { DurationSeconds: 900 });
  assert.equal(answer.SubjectFromWebIdentityToken, 'acme');
  assert.equal(answer.Audience, 'orders-app');
  assert.equal(answer.Provider, provider.issuer);
  assert.equal(answer.AssumedRoleUser.Arn, 'arn:aws:sts::000000000000:assumed-role/tenant/session');
  const seconds = (answer.Credentials.Expiration - Date.now()) / 1000;
  assert.ok(seconds > 850 && seconds <= 901, `${seconds}`);
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: sessionToken } = answer.Credentials;
  const who = await stsAs({ accessKeyId, secretAccessKey, sessionToken }).GetCallerIdentity({});
  assert.equal(who.Arn, answer.AssumedRoleUser.Arn);
  await refused(stsAs({ accessKeyId, secretAccessKey, sessionToken: `${sessionToken.slice(0, -2)}xx` }).GetCallerIdentity({}), 'InvalidClientTokenId');
});

test('forged and wrong tokens get no credentials', async () => {
  const now = Math.floor(Date.now() / 1000);
  await refused(assume(provider.token({ exp: now - 1 })), 'ExpiredTokenException', 'Token expired');
  const bad = (token, text) => refused(assume(token), 'InvalidIdentityTokenException', text);
  await bad(provider.token({ nbf: now + 300 }), 'nbf');
  await bad(provider.token({ iat: now + 300 }), 'iat');
  await bad(provider.token({ aud: 'another-app' }), 'Incorrect token audience');
  await bad(provider.token({ aud: ['orders-app', 'another-app'] }), 'several audiences');
  await bad(provider.token({ iss: `${provider.issuer}/` }), 'No OpenIDConnect provider found');
  await bad(provider.token({}, { kid: 'unknown' }), "Couldn't retrieve verification key");
  await bad(provider.token({}, { crit: ['exp'] }), 'critical');
  const [head, claims, signature] = provider.token().split('.');
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  await bad(`${encode({ alg: 'none', kid: 'first' })}.${claims}.`, 'RS256 or ES256');
  const publicKey = crypto.createPublicKey({ key: provider.keys[0].jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  const confused = `${encode({ alg: 'HS256', kid: 'first' })}.${claims}`;
  await bad(`${confused}.${crypto.createHmac('sha256', publicKey).update(confused).digest('base64url')}`, 'RS256 or ES256');
  await bad(`${head}.${encode({ iss: provider.issuer, aud: 'orders-app', sub: 'root', iat: now, exp: now + 600 })}.${signature}`, 'signature');
  const stranger = { kid: 'first', alg: 'RS256', secret: crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey };
  await bad(provider.token({}, {}, stranger), 'signature');
  await refused(assume('x'.repeat(20001)), 'ValidationError');
  await refused(assume(provider.token(), { ProviderId: 'www.amazon.com' }), 'ValidationError', 'ProviderId');
  await refused(assume(provider.token(), { RoleArn: `${kRole}-none` }), 'AccessDenied', 'Not authorized to perform sts:AssumeRoleWithWebIdentity');
  assert.equal(provider.asked.length, 2, 'none of these makes the server ask the provider');
});

test('the audit log names who came, and holds no token', async () => {
  const token = provider.token({ sub: 'audited' });
  await assume(token);
  const lines = fs.readFileSync(auditLog, 'utf8').trim().split('\n').map((line) => JSON.parse(line))
    .filter(({ eventName }) => eventName === 'AssumeRoleWithWebIdentity');
  const good = lines.findLast(({ errorCode }) => errorCode === undefined);
  assert.equal(good.userIdentity.type, 'WebIdentityUser');
  assert.equal(good.userIdentity.principalId, `${provider.arn}:orders-app:audited`);
  assert.equal(good.requestParameters.roleArn, kRole);
  assert.ok(lines.some(({ errorCode }) => errorCode === 'InvalidIdentityToken'), 'failures are there');
  const text = fs.readFileSync(auditLog, 'utf8');
  assert.ok(!text.includes(token) && !text.includes(token.split('.')[2]), 'the token stands in the log');
});

test('a server that was killed has the provider, and fetches its keys anew', async () => {
  const earlier = await assume(provider.token());
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: sessionToken } = earlier.Credentials;
  await server.kill();
  // Keys of the other algorithm under a name of their own; the old key is gone.
  provider.keys = [];
  provider.addKey('second', 'ES256');
  const asked = provider.asked.length;
  server = await start();
  assert.equal((await assume(provider.token())).SubjectFromWebIdentityToken, 'acme');
  assert.equal(provider.asked.length, asked + 2);
  await ddbAs({ accessKeyId, secretAccessKey, sessionToken }).GetItem({ TableName: 'orders', Key: { tenant: { S: 'acme' } } });
  const shown = await iamAs(kRoot).GetOpenIDConnectProvider({ OpenIDConnectProviderArn: provider.arn });
  assert.equal(shown.Url, provider.name);
  assert.deepEqual(shown.ClientIDList, ['orders-app']);
  assert.deepEqual(shown.ThumbprintList, ['a'.repeat(40)]);
});

test('a provider that hangs holds up its own calls only, for ten seconds at most', async () => {
  await server.kill();
  server = await start();
  provider.hangs = true;
  const begin = Date.now();
  let ended = 0;
  const waiting = Array.from({ length: 8 }, () => refused(assume(provider.token()), 'IDPCommunicationErrorException').finally(() => { ended += 1; }));
  const iam = iamAs(kRoot);
  let served = 0;
  for (let i = 0; i < 5; ++i) {
    await iam.ListUsers({});
    await ddbAs(kRoot).GetItem({ TableName: 'orders', Key: { tenant: { S: 'acme' } } });
    if (ended === 0) served += 1;
  }
  assert.ok(served > 0, 'others wait for the provider');
  await Promise.all(waiting);
  const took = Date.now() - begin;
  assert.ok(took > 4000 && took < 30000, `${took} ms`);
  const asked = provider.asked.length;
  await refused(assume(provider.token()), 'IDPCommunicationErrorException');
  assert.equal(provider.asked.length, asked, 'it is not asked again at once');
  provider.hangs = false;
  provider.server.closeAllConnections();
});

// Tokens of 40 providers that hang come before that of the good one. Each provider takes 5 s.
test('providers that hang hold up no first token of another one', async () => {
  await server.kill();
  server = await start();
  const hanging = await Provider.start();
  hanging.hangs = true;
  const iam = iamAs(kRoot);
  const issuers = Array.from({ length: 40 }, (_, i) => `${hanging.origin}/realm${i}`);
  for (const Url of issuers) await iam.CreateOpenIDConnectProvider({ Url, ClientIDList: ['orders-app'] });
  const waiting = issuers.map((iss) => assume(hanging.token({ iss })).catch((error) => error));
  while (hanging.asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  const begin = Date.now();
  assert.equal((await assume(provider.token())).Provider, provider.issuer);
  const took = Date.now() - begin;
  assert.ok(took < 30000, `the first token of the good provider waited ${took} ms`);
  for (const error of await Promise.all(waiting)) assert.equal(error.name, 'IDPCommunicationErrorException', error.message);
  for (const url of issuers) await iam.DeleteOpenIDConnectProvider({ OpenIDConnectProviderArn: `arn:aws:iam::000000000000:oidc-provider/${url.replace('http://', '')}` });
  hanging.stop();
});

test('a redirect is not followed, and a stopping server does not wait', async () => {
  await server.kill();
  server = await start();
  const elsewhere = await Provider.start();
  provider.moved = `${elsewhere.origin}/realm/.well-known/openid-configuration`;
  await refused(assume(provider.token()), 'IDPCommunicationErrorException');
  assert.equal(elsewhere.asked.length, 0);
  elsewhere.stop();
  provider.moved = '';
  await server.kill();
  server = await start();
  provider.hangs = true;
  const asked = provider.asked.length;
  const cut = assume(provider.token()).catch((error) => error);
  while (provider.asked.length === asked) await new Promise((resolve) => setTimeout(resolve, 10));
  const watch = watchOf(server);
  await server.stop();
  await cut;
  const { millis } = watch;
  assert.ok(millis < 4000, `${millis} ms`);
  provider.hangs = false;
  server = await start();
});

test('a provider over TLS needs an authority of the system', async () => {
  const made = path.join(directory, 'certificates');
  const cert = spawnSync(binary, ['cert', '--out', made], { encoding: 'utf8' });
  assert.equal(cert.status, 0, cert.stderr);
  const read = (name) => fs.readFileSync(path.join(made, name));
  const secure = await Provider.start({ cert: read('server.pem'), key: read('server.key') });
  const iam = iamAs(kRoot);
  await iam.CreateOpenIDConnectProvider({ Url: secure.issuer, ClientIDList: ['orders-app'], ThumbprintList: ['b'.repeat(40)] });
  await iam.UpdateAssumeRolePolicy({ RoleName: 'tenant', PolicyDocument: trust(secure) });
  await refused(assume(secure.token()), 'IDPCommunicationErrorException');
  assert.equal(secure.asked.length, 0, 'nothing is asked before the certificate is trusted');
  await server.kill();
  server = await start({ SSL_CERT_FILE: path.join(made, 'ca.pem') });
  assert.equal((await assume(secure.token())).Provider, secure.issuer);
  secure.stop();
});

test('without access control there is no such call', async () => {
  const off = await Server.start({ args: ['--auth=off', '--in-memory'] });
  const reply = await request(off.endpoint, {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=s1&RoleArn=${kRole}&WebIdentityToken=${provider.token()}`,
  });
  assert.ok(reply.status >= 400, reply.text);
  assert.ok(!reply.text.includes('AccessKeyId'), reply.text);
  await off.stop();
});
