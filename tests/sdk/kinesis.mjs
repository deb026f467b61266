// For tests of Kinesis destinations: kinesalite behind a door that checks the signature of each request by itself, and fails as a test
// says. Whole requests reach kinesalite, also from a server that is killed while it sends one.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { CreateStreamCommand, GetRecordsCommand, GetShardIteratorCommand, KinesisClient, ListShardsCommand } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import kinesalite from 'kinesalite';

import { request } from './harness.mjs';

export const kKey = { AWS_ACCESS_KEY_ID: 'AKIDKINESIS', AWS_SECRET_ACCESS_KEY: 'secret/of+the key', AWS_SESSION_TOKEN: '' };
export const kRegion = 'eu-west-3';
export const arnOf = (name, region = kRegion) => `arn:aws:kinesis:${region}:000000000000:stream/${name}`;

const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();
const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');

// Throws unless the request is signed with kKey for Kinesis in kRegion.
function checkSignature({ method, url, headers }, body) {
  const parts = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/kinesis\/aws4_request, SignedHeaders=([^,]+), Signature=(\w{64})$/
    .exec(headers.authorization ?? '');
  assert.ok(parts, `no signature: ${headers.authorization}`);
  const [, key, day, region, names, signature] = parts;
  assert.equal(key, kKey.AWS_ACCESS_KEY_ID);
  assert.equal(region, kRegion);
  for (const name of ['host', 'x-amz-date', 'x-amz-target']) assert.ok(names.split(';').includes(name), `${name} is not signed`);
  assert.ok(Math.abs(Date.now() - Date.parse(headers['x-amz-date'].replace(/(\d{4})(\d\d)(\d\dT\d\d)(\d\d)/, '$1-$2-$3:$4:'))) < 300_000);
  const canonical = [method, url, '', ...names.split(';').map((name) => `${name}:${headers[name].trim()}`), '', names, sha256(body)].join('\n');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], `${day}/${region}/kinesis/aws4_request`, sha256(canonical)].join('\n');
  const signing = ['kinesis', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${kKey.AWS_SECRET_ACCESS_KEY}`, day), region));
  assert.equal(hmac(signing, text).toString('hex'), signature, 'the signature is wrong');
}

export class KinesisEndpoint {
  // `hook(action, request)` may answer in place of kinesalite: {status, body}, or 'hang', or 'break'; or {refuse: [indexes]} for PutRecords.
  static async start({ hook = () => undefined } = {}) {
    const endpoint = new KinesisEndpoint();
    endpoint.hook = hook;
    endpoint.problems = [];
    endpoint.calls = [];
    endpoint.kinesalite = kinesalite({ createStreamMs: 20, shardLimit: 100 });
    endpoint.kinesalite.listen(0, '127.0.0.1');
    await once(endpoint.kinesalite, 'listening');
    endpoint.kinesalite.unref();
    const behind = `http://127.0.0.1:${endpoint.kinesalite.address().port}`;
    endpoint.door = http.createServer(async (message, reply) => {
      const chunks = [];
      try {
        for await (const chunk of message) chunks.push(chunk);
      } catch {
        return;  // the server was killed
      }
      const body = Buffer.concat(chunks);
      try {
        checkSignature(message, body);
      } catch (error) {
        endpoint.problems.push(error);
        reply.writeHead(400).end(JSON.stringify({ __type: 'InvalidSignatureException', message: error.message }));
        return;
      }
      const action = message.headers['x-amz-target'].split('.')[1];
      const parsed = JSON.parse(body);
      endpoint.calls.push({ action, ...parsed });
      const instead = endpoint.hook(action, parsed);
      if (instead === 'hang') return;
      if (instead === 'break') return void message.socket.destroy();
      if (instead?.status !== undefined) return void reply.writeHead(instead.status).end(instead.body);
      const refused = new Set(instead?.refuse ?? []);
      const kept = action === 'PutRecords' ? { ...parsed, Records: parsed.Records.filter((_, i) => !refused.has(i)) } : parsed;
      const headers = Object.fromEntries(['content-type', 'x-amz-target', 'x-amz-date', 'authorization'].map((name) => [name, message.headers[name]]));
      if (kept.Records?.length === 0) {
        reply.writeHead(200).end(JSON.stringify({ FailedRecordCount: parsed.Records.length,
          Records: parsed.Records.map(() => ({ ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'Rate exceeded' })) }));
        return;
      }
      const answer = await request(behind, { headers, body: JSON.stringify(kept) });
      if (refused.size === 0) return void reply.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.1' }).end(answer.body);
      const taken = answer.json().Records;
      const Records = parsed.Records.map((_, i) =>
        refused.has(i) ? { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'Rate exceeded for shard' } : taken.shift());
      reply.writeHead(200).end(JSON.stringify({ FailedRecordCount: refused.size, Records }));
    });
    endpoint.door.keepAliveTimeout = 60000;
    endpoint.door.listen(0, '127.0.0.1');
    await once(endpoint.door, 'listening');
    endpoint.door.unref();
    endpoint.url = `http://127.0.0.1:${endpoint.door.address().port}`;
    endpoint.client = new KinesisClient({
      endpoint: behind, region: kRegion, credentials: { accessKeyId: 'a', secretAccessKey: 'b' }, requestHandler: new NodeHttpHandler(),
    });
    return endpoint;
  }
  async create(StreamName, ShardCount = 1) {
    await this.client.send(new CreateStreamCommand({ StreamName, ShardCount }));
    for (;;) {
      try {
        const { Shards } = await this.client.send(new ListShardsCommand({ StreamName }));
        if (Shards.length === ShardCount) return arnOf(StreamName);
      } catch (error) {
        if (error.name !== 'ResourceNotFoundException' && error.name !== 'ResourceInUseException') throw error;
      }
      await delay(10);
    }
  }
  // Everything in a stream, shard by shard: {PartitionKey, ShardId, text, record}.
  async read(StreamName) {
    const all = [];
    const { Shards } = await this.client.send(new ListShardsCommand({ StreamName }));
    for (const { ShardId } of Shards) {
      let { ShardIterator } = await this.client.send(new GetShardIteratorCommand({ StreamName, ShardId, ShardIteratorType: 'TRIM_HORIZON' }));
      for (;;) {
        const page = await this.client.send(new GetRecordsCommand({ ShardIterator }));
        if (page.Records.length === 0) break;
        for (const { PartitionKey, Data } of page.Records) {
          const text = Buffer.from(Data).toString();
          all.push({ PartitionKey, ShardId, text, record: JSON.parse(text) });
        }
        ShardIterator = page.NextShardIterator;
      }
    }
    return all;
  }
  async stop() {
    this.door.close();
    this.door.closeAllConnections();
    this.kinesalite.close();
    this.kinesalite.closeAllConnections?.();
    this.client.destroy();
  }
}
