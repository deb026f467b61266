// Writes captures.json: requests as real clients sign and send them, byte for byte (but for the kernel in user agents), each with the key that it was signed with.
// src/access/verifier_test.cc verifies them. Run by hand when a client changes what it signs:
//
//   node tests/access/signatures/capture.mjs
//
// Uses the AWS SDK for JavaScript (npm ci in tests/access), every boto3 and AWS CLI of the machine, and curl.
import { DynamoDBClient, GetItemCommand, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient, ListStreamsCommand } from '@aws-sdk/client-dynamodb-streams';
import { CreateUserCommand, IAMClient } from '@aws-sdk/client-iam';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { SignatureV4 } from '@smithy/signature-v4';
import { execFileSync, spawn } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const require = (path) => JSON.parse(readFileSync(path, 'utf8'));
const longTerm = { keyId: 'AKIASTATORCAPTURE001', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYSTATOR0001', token: '' };
const temporary = { keyId: 'ASIASTATORCAPTURE002', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYSTATOR0002', token: 'FwoGZXIvYXdzEBY//token+of/a==' };

const captures = [];
let current; // { client, key } of the requests that arrive now

// Reads one request of a connection: the raw lines, no header parser between.
function onRequest(socket) {
  let bytes = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [first, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
      const headers = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
      const length = Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? 0);
      if (bytes.length < end + 4 + length) {
        if (headers.some(([name]) => name.toLowerCase() === 'expect')) socket.write('HTTP/1.1 100 Continue\r\n\r\n');
        return;
      }
      const [method, target] = first.split(' ');
      record(method, target, headers, bytes.subarray(end + 4, end + 4 + length));
      bytes = bytes.subarray(end + 4 + length);
      socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nContent-Type: application/x-amz-json-1.0\r\n\r\n{}');
    }
  });
}

function record(method, target, headers, body) {
  const authorization = headers.find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  const query = new URLSearchParams(target.split('?')[1] ?? '');
  const credential = authorization ? /Credential=([^,\s]+)/.exec(authorization)[1] : query.get('X-Amz-Credential');
  const [, , region, service] = credential.split('/');
  const time = headers.find(([name]) => name.toLowerCase() === 'x-amz-date')?.[1] ?? query.get('X-Amz-Date');
  // User agents are not signed: the recording machine's kernel need not be known.
  const tidy = headers.map(([name, value]) => [name, name.toLowerCase() === 'user-agent' ? value.replace(/(linux[#/])[\w.-]+/i, (_, os) => `${os}6.1.0-10-amd64`) : value]);
  captures.push({ client: current.client, ...current.key, service, region, time, method, target, headers: tidy, body: body.toString('base64') });
}

const server = createServer(onRequest);
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();
const endpoint = `http://127.0.0.1:${port}`;

const finished = (child) => new Promise((resolve) => child.on('close', resolve));
async function run(program, args, options = {}) {
  let out = '';
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], ...options });
  child.stdout.on('data', (text) => (out += text));
  await finished(child);
  return out;
}

// A presigned request as a browser would send it.
function recordPresigned(url) {
  const { pathname, search, host } = new URL(url);
  record('GET', pathname + search, [['Host', host], ['User-Agent', 'x'], ['Accept', '*/*']], Buffer.alloc(0));
}

for (const key of [longTerm, temporary]) {
  const options = {
    endpoint, region: 'eu-central-1', maxAttempts: 1,
    credentials: { accessKeyId: key.keyId, secretAccessKey: key.secret, sessionToken: key.token || undefined },
  };
  const version = require(join(here, '../node_modules/@aws-sdk/client-dynamodb/package.json')).version;
  current = { client: `aws-sdk-js ${version}`, key };
  const send = (client, command) => client.send(command).catch(() => {}).finally(() => client.destroy());
  await send(new DynamoDBClient(options), new GetItemCommand({ TableName: 'Music', Key: { pk: { S: 'a bé' } }, ConsistentRead: true }));
  await send(new DynamoDBClient(options), new ListTablesCommand({}));
  await send(new DynamoDBStreamsClient(options), new ListStreamsCommand({}));
  await send(new IAMClient(options), new CreateUserCommand({ UserName: 'alice', Tags: [{ Key: 'team', Value: 'a+b c' }] }));
  await send(new STSClient(options), new GetCallerIdentityCommand({}));

  class Sha256 {
    constructor(secret) {
      this.hash = secret ? createHmac('sha256', secret) : createHash('sha256');
    }
    update(data) { this.hash.update(data); }
    async digest() { return this.hash.digest(); }
  }
  const signer = new SignatureV4({ service: 'sts', region: 'us-east-1', credentials: options.credentials, sha256: Sha256 });
  const presigned = await signer.presign({
    method: 'GET', protocol: 'http:', hostname: '127.0.0.1', port, path: '/', headers: { host: `127.0.0.1:${port}`, 'x-k8s-aws-id': 'cluster one' },
    query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
  }, { expiresIn: 60, unhoistableHeaders: new Set(['x-k8s-aws-id']) });
  current = { client: `@smithy/signature-v4 ${require(join(here, '../node_modules/@smithy/signature-v4/package.json')).version} presign`, key };
  const query = Object.entries(presigned.query).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
  record('GET', `/?${query}`, [['host', `127.0.0.1:${port}`], ['x-k8s-aws-id', 'cluster one']], Buffer.alloc(0));

  for (const python of new Set(['/usr/bin/python3', 'python3'])) {
    const boto3 = (await run(python, ['-c', 'import boto3; print(boto3.__version__)'])).trim();
    if (!boto3) continue;
    current = { client: `boto3 ${boto3}`, key };
    const url = await run(python, [join(here, 'clients.py'), endpoint, key.keyId, key.secret, key.token]);
    current = { client: `boto3 ${boto3} presign`, key };
    recordPresigned(url.trim());
  }

  const env = {
    ...process.env, AWS_ACCESS_KEY_ID: key.keyId, AWS_SECRET_ACCESS_KEY: key.secret, AWS_SESSION_TOKEN: key.token,
    AWS_DEFAULT_REGION: 'eu-west-1', AWS_MAX_ATTEMPTS: '1', AWS_EC2_METADATA_DISABLED: 'true',
  };
  if (!key.token) delete env.AWS_SESSION_TOKEN;
  for (const aws of new Set(['/usr/bin/aws', 'aws'])) {
    const version = /aws-cli\/(\S+)/.exec(await run(aws, ['--version']))?.[1];
    if (!version) continue;
    current = { client: `aws-cli ${version}`, key };
    await run(aws, ['--endpoint-url', endpoint, 'dynamodb', 'put-item', '--table-name', 'Music', '--item', '{"pk":{"S":"ü"}}'], { env });
    await run(aws, ['--endpoint-url', endpoint, 'iam', 'list-users'], { env });
  }

  const curl = /curl (\S+)/.exec(await run('curl', ['--version']))[1];
  current = { client: `curl ${curl}`, key };
  await run('curl', ['-s', endpoint, '--user', `${key.keyId}:${key.secret}`, '--aws-sigv4', 'aws:amz:us-east-1:dynamodb',
    ...(key.token ? ['-H', `X-Amz-Security-Token: ${key.token}`] : []), '-H', 'Content-Type: application/x-amz-json-1.0',
    '-H', 'X-Amz-Target: DynamoDB_20120810.ListTables', '-d', '{"Limit": 1}']);
}

// Connections of clients that keep them alive would hold the server open.
writeFileSync(join(here, 'captures.json'), '[\n' + captures.map((capture) => JSON.stringify(capture)).join(',\n') + '\n]\n');
console.log(`${captures.length} requests of ${new Set(captures.map((c) => c.client)).size} clients`);
process.exit(0);
