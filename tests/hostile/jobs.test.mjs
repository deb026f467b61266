// Jobs of the object store whose files or endpoint are hostile: they end, and they hold neither a stop nor the jobs of others.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { binary, call, isStator, Server } from '../sdk/harness.mjs';

const ours = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : process.env.STATOR_CLUSTER_CONF ? 'the servers have no object store' : false, timeout: 300000 };
// docs/limits.md: 20 s; the rest is for a loaded machine.
const kStopMillis = 60000;
const definition = (TableName) => ({
  TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
});

async function must(server, operation, body) {
  const reply = await call(server.endpoint, operation, body);
  assert.equal(reply.status, 200, reply.text);
  return reply.json();
}

// Starts a server that does not outlive its test.
async function startFor(context, options) {
  const server = await Server.startOne(options);
  context.after(() => server.kill());
  return server;
}

// Sends SIGTERM and waits for the end.
async function stopInTime(server) {
  server.child.ref();
  server.child.kill('SIGTERM');
  const ended = await Promise.race([server.exited, delay(kStopMillis, null, { ref: false })]);
  if (ended === null) await server.kill();
  assert.ok(ended !== null, `no end ${kStopMillis} ms after SIGTERM:\n${server.output}`);
  assert.equal(ended.code, 0, server.output);
}

async function withEndpoint(answer, run) {
  const endpoint = http.createServer((request, response) => {
    request.resume();
    request.on('end', () => answer(request, response));
  });
  endpoint.listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  try {
    return await run(`http://127.0.0.1:${endpoint.address().port}`);
  } finally {
    endpoint.closeAllConnections();
    endpoint.close();
  }
}

test('answers of a hostile S3 endpoint fail their import, and the next one has its turn', ours, async (context) => {
  const kBytes = 8 << 20;
  let tokens = 0;
  const answers = {
    entities: (response) => response.writeHead(404).end(`<Error><Code>X</Code><Message>${'&'.repeat(kBytes)}</Message></Error>`),
    tags: (response) => response.writeHead(404).end(`<Error>${'<CodeX'.repeat(kBytes / 6)}></Error>`),
    objects: (response) => response.writeHead(200).end(`<L>${'<Contents/>'.repeat(kBytes / 11)}</L>`),
    endless: (response) => response.writeHead(200).end(`<L><IsTruncated>true</IsTruncated><NextContinuationToken>${++tokens}</NextContinuationToken></L>`),
    honest: (response) => response.writeHead(200).end('<L></L>'),
  };
  await withEndpoint((request, response) => {
    if (request.method === 'HEAD') return response.writeHead(200, { 'Content-Length': 0 }).end();
    return answers[request.url.split(/[/?]/)[1]](response);
  }, async (place) => {
    const server = await startFor(context, {
      args: ['--object-store', place, '--object-store-buckets', '*'],
      env: { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'us-east-1' },
    });
    const began = [];
    for (const S3Bucket of Object.keys(answers)) {
      const { ImportTableDescription } = await must(server, 'ImportTable', {
        InputFormat: 'DYNAMODB_JSON', S3BucketSource: { S3Bucket }, TableCreationParameters: definition(`from-${S3Bucket}`),
      });
      began.push([S3Bucket, ImportTableDescription.ImportArn]);
    }
    const end = Date.now() + 120000;
    for (const [bucket, ImportArn] of began) {
      for (;;) {
        const { ImportStatus } = (await must(server, 'DescribeImport', { ImportArn })).ImportTableDescription;
        if (ImportStatus === (bucket === 'honest' ? 'COMPLETED' : 'FAILED')) break;
        assert.equal(ImportStatus, 'IN_PROGRESS', bucket);
        assert.ok(Date.now() < end, `the import of ${bucket} does not end`);
        await delay(50);
      }
    }
    await stopInTime(server);
  });
});

test('a stop does not wait for the conditions of a bulk put', ours, async (context) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-jobs-'));
  try {
    fs.mkdirSync(path.join(root, 'objects', 'in'), { recursive: true });
    const server = await startFor(context, { dataDir: path.join(root, 'data'), args: ['--object-store', path.join(root, 'objects')] });
    await must(server, 'CreateTable', definition('checked'));
    const keys = Array.from({ length: 64 }, (_, i) => String(i));
    for (const key of keys) await must(server, 'PutItem', { TableName: 'checked', Item: { pk: { S: key }, v: { S: 'a'.repeat(390000) } } });
    // Each computes for a few tenths of a second, and fails.
    const record = (key) => JSON.stringify({
      Item: { pk: { S: key } }, ConditionExpression: Array(150).fill('contains(v, :v)').join(' OR '),
      ExpressionAttributeValues: { ':v': { S: `${'a'.repeat(100000)}b` } },
    });
    fs.writeFileSync(path.join(root, 'objects', 'in', 'a.json'), Array(10).fill(keys).flat().map((key) => `${record(key)}\n`).join(''));
    await must(server, 'StartBulkPutItems', {
      TableName: 'checked', InputS3Configuration: { S3Bucket: 'in', S3KeyPrefix: 'a', InputFormat: 'DYNAMODB_JSON' },
      OutputS3Configuration: { S3Bucket: 'in', S3KeyPrefix: 'out', OutputType: ['ERROR'] },
    });
    await delay(2000);
    await stopInTime(server);
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
});

test('a bulk put writes little of its output at once', ours, async (context) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-jobs-'));
  try {
    const objects = path.join(root, 'objects');
    fs.mkdirSync(path.join(objects, 'in'), { recursive: true });
    const server = await startFor(context, { dataDir: path.join(root, 'data'), args: ['--object-store', objects] });
    await must(server, 'CreateTable', definition('shown'));
    const keys = Array.from({ length: 16 }, (_, i) => String(i));
    for (const key of keys) await must(server, 'PutItem', { TableName: 'shown', Item: { pk: { S: key }, v: { S: '\u0001'.repeat(390000) } } });
    const record = (key) => JSON.stringify({ Item: { pk: { S: key } }, ConditionExpression: 'attribute_not_exists(pk)' });
    fs.writeFileSync(path.join(objects, 'in', 'a.json'), keys.map((key) => `${record(key)}\n`).join(''));
    const { BulkOperationDescription: { BulkOperationArn } } = await must(server, 'StartBulkPutItems', {
      TableName: 'shown', InputS3Configuration: { S3Bucket: 'in', S3KeyPrefix: 'a', InputFormat: 'DYNAMODB_JSON' },
      OutputS3Configuration: { S3Bucket: 'in', S3KeyPrefix: 'out', OutputType: ['CONDITION_CHECK_FAILURE'] },
    });
    const end = Date.now() + 200000;
    for (;;) {
      const now = (await must(server, 'DescribeBulkOperation', { BulkOperationArn })).BulkOperationDescription;
      if (now.BulkOperationStatus === 'COMPLETED') break;
      assert.equal(now.BulkOperationStatus, 'IN_PROGRESS');
      assert.ok(Date.now() < end, 'the bulk put does not end');
      await delay(50);
    }
    // An object ends with the write that brings it to 4 MB; a line has 2.3 MB.
    const folder = path.join(objects, 'in', 'out', 'AWSDynamoDB', BulkOperationArn.split('/').pop(), 'condition-check-failures');
    const sizes = fs.readdirSync(folder).map((name) => fs.statSync(path.join(folder, name)).size);
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) > keys.length * 6 * 390000, `${sizes}: lines are missing`);
    for (const size of sizes) assert.ok(size < 8 << 20, `${size >> 20} MB were written at once: ${sizes}`);
    await stopInTime(server);
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
});

test('a source that always has more tables and names none is left', ours, async () => {
  let calls = 0;
  await withEndpoint((request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify({ TableNames: [], LastEvaluatedTableName: `t${++calls}` }));
  }, async (source) => {
    const args = ['import', '--all-tables', '--from-endpoint', source, '--endpoint-url', source];
    const { code, stderr } = await new Promise((resolve) => {
      execFile(binary, args, { timeout: 60000 }, (error, stdout, stderr) => resolve({ code: error?.code, stderr }));
    });
    assert.equal(code, 1, stderr);
    assert.match(stderr, /the answer to ListTables is not what DynamoDB answers/);
    assert.equal(calls, 1);
  });
});
