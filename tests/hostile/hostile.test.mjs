// Bad input, over raw sockets. Every case wants a clear error of the right class (or a closed connection where HTTP itself
// is broken) within bounded time, and that the server still serves others.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, afterEach, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import zlib from 'node:zlib';

import { call, isStator, referenceOnly, request, serverForTests, signedHeaders } from '../sdk/harness.mjs';
import { watchOf } from './judge.mjs';

const { endpoint, server, stop } = await serverForTests();
const { hostname, port } = new URL(endpoint);
const TableName = `hostile.${process.pid}`;
const Key = { pk: { S: 'witness' } };
const witness = { ...Key, v: { S: 'still here' } };

const created = await call(endpoint, 'CreateTable', {
  TableName, KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], BillingMode: 'PAY_PER_REQUEST',
});
assert.equal(created.status, 200, created.text);
await call(endpoint, 'DescribeTable', { TableName });
assert.equal((await call(endpoint, 'PutItem', { TableName, Item: witness })).status, 200);

after(async () => {
  await call(endpoint, 'DeleteTable', { TableName }).catch(() => {});
  await stop();
});

async function stillServes() {
  if (server) assert.equal(server.child.exitCode ?? server.child.signalCode, null, `the server is gone:\n${server.output}`);
  const reply = await call(endpoint, 'GetItem', { TableName, Key, ConsistentRead: true });
  assert.deepEqual(reply.json().Item, witness);
}
afterEach(() => stillServes());

const SERIALIZATION = 'com.amazon.coral.service#SerializationException';
const VALIDATION = 'com.amazon.coral.validate#ValidationException';
const UNKNOWN = 'com.amazon.coral.service#UnknownOperationException';

// The reply is an error of that status and one of these types. Peers have their own ways: there any error will do.
function assertError(reply, status, ...types) {
  if (!isStator) return assert.ok(reply.status >= 400, `${reply.status} ${reply.text.slice(0, 300)}`);
  assert.equal(reply.status, status, reply.text.slice(0, 300));
  const { __type } = reply.json();
  assert.ok(types.includes(__type), reply.text.slice(0, 300));
}

// A socket whose answer is collected. Never throws: a reset by the server is one of the possible answers.
class Raw {
  static async open() {
    const raw = new Raw();
    raw.received = Buffer.alloc(0);
    raw.ended = false;
    raw.socket = net.connect({ host: hostname, port, allowHalfOpen: true });
    raw.socket.on('data', (chunk) => { raw.received = Buffer.concat([raw.received, chunk]); });
    raw.socket.on('end', () => { raw.ended = true; });
    raw.socket.on('close', () => { raw.ended = true; });
    raw.socket.on('error', () => { raw.ended = true; });
    await once(raw.socket, 'connect');
    return raw;
  }
  // Sends bytes in pieces, as long as nothing has come back: the refusal may come before the end, and a write to a connection that
  // the server has closed a while after it would cost the answer.
  async send(bytes, framed = (part) => part) {
    for (let from = 0; from < bytes.length && !this.ended && this.received.length === 0; from += 1 << 20) {
      this.socket.write(framed(bytes.subarray(from, from + (1 << 20))));
      await delay(1);
      await new Promise((resolve) => { setImmediate(resolve); });  // what has come is read by then
    }
  }
  // Everything that comes until the server ends the connection, or until `enough` says so, or the time is up.
  async answer({ within = 120000, enough = () => false } = {}) {
    const end = Date.now() + within;
    while (!this.ended && !enough(this.received.toString('latin1')) && Date.now() < end) await delay(5);
    return this.received.toString('latin1');
  }
  close() { this.socket.destroy(); }
}
const head = (headers, { method = 'POST', path = '/' } = {}) =>
  `${method} ${path} HTTP/1.1\r\n${Object.entries({ Host: `${hostname}:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
const statusOf = (answer) => Number(/^HTTP\/1\.[01] (\d{3}) /.exec(answer)?.[1]);
const whole = (text) => {
  const match = /^HTTP\/1\.1 \d+[^]*?\r\ncontent-length: (\d+)(?=\r\n)[^]*?\r\n\r\n/i.exec(text);
  if (match === null) return text.endsWith('\r\n0\r\n\r\n');
  return text.length >= match[0].length + Number(match[1]);
};

// Sends bytes on a connection of their own and returns what the server says to it.
async function exchange(bytes, options = {}) {
  const raw = await Raw.open();
  raw.socket.write(bytes);
  const answer = await raw.answer({ enough: whole, ...options });
  raw.close();
  return answer;
}

describe('bodies that are not JSON', () => {
  const valid = JSON.stringify({ TableName, Item: { pk: { S: 'x' }, l: { L: [{ N: '1' }, { M: { k: { BOOL: true } } }] } } });
  for (const body of ['', ' ', 'x', '<xml/>', '{', '}', '{"', '{"TableName"', '{"TableName":', '{"TableName":}', '{TableName:"x"}', "{'TableName':'x'}", '{"a":1,}', '{"a":01}', '{"a":+1}', '{"a":.5}',
    '{"a":NaN}', '{"a":tru}', '{"a":"\n"}', '{"a":"\\x"}', '{"a":"\\u12"}', '{} {}', '{}x', '{"a":1}]', '\u0000', '{"a":"\u0000"}', '// {}\n{}', '\ufeff']) {
    test(JSON.stringify(body), { skip: !isStator && 'a lenient reader' }, async () => {
      const reply = await call(endpoint, 'GetItem', body);
      assertError(reply, 400, SERIALIZATION);
      assert.equal(reply.json().message ?? reply.json().Message, undefined);
    });
  }
  for (const body of ['[]', 'null', '1', '"text"', 'true', '[{"TableName":"x"}]']) {
    test(`${body}, which is no object`, async () => assertError(await call(endpoint, 'GetItem', body), 400, SERIALIZATION, VALIDATION));
  }
  test('truncated at every byte', async () => {
    for (let length = 0; length < valid.length; length++) assertError(await call(endpoint, 'PutItem', valid.slice(0, length)), 400, SERIALIZATION);
    assert.equal((await call(endpoint, 'PutItem', valid)).status, 200);
  });
  test('a million nested brackets', async () => {
    const million = 1000000;
    for (const body of [
      '['.repeat(million), '{"a":'.repeat(million), `${'['.repeat(million)}${']'.repeat(million)}`,
      `{"TableName":"${TableName}","Nonsense":${'['.repeat(million)}${']'.repeat(million)}}`,
      `{"TableName":"${TableName}","Item":{"pk":{"S":"deep"},"v":${'{"L":['.repeat(million)}${']}'.repeat(million)}}}`,
      `{"TableName":"${TableName}","Item":{"pk":{"S":"deep"},"v":${'{"M":{"k":'.repeat(million)}{"S":"x"}${'}}'.repeat(million)}}}`,
    ]) assertError(await call(endpoint, 'PutItem', body), 400, SERIALIZATION, VALIDATION);
    const expression = (text) => call(endpoint, 'PutItem', { TableName, Item: Key, ConditionExpression: text });
    assertError(await expression('('.repeat(4000)), 400, VALIDATION);
    assertError(await expression('('.repeat(million)), 400, VALIDATION);
    assertError(await expression('NOT '.repeat(1000) + 'attribute_exists(pk)'), 400, VALIDATION);
    assertError(await expression(`${'a.'.repeat(2000)}a = b`), 400, VALIDATION);
  });
  test('invalid UTF-8', { skip: !isStator && 'replaces it' }, async () => {
    const around = (bytes) => Buffer.concat([Buffer.from(`{"TableName":"${TableName}","Item":{"pk":{"S":"`), Buffer.from(bytes), Buffer.from('"}}}')]);
    for (const bytes of [[0x80], [0xff], [0xc3], [0xc0, 0xaf], [0xe0, 0x80, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf0, 0x9f, 0x98], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      assertError(await call(endpoint, 'PutItem', around(bytes)), 400, SERIALIZATION);
    }
    assert.equal((await call(endpoint, 'PutItem', around([0xf0, 0x9f, 0x98, 0x80]))).status, 200);
  });
  test('half of a surrogate pair', async () => {
    const reply = await call(endpoint, 'PutItem', `{"TableName":"${TableName}","Item":{"pk":{"S":"\\ud800"}}}`);
    assert.ok([200, 400].includes(reply.status), reply.text);
    assert.equal((await call(endpoint, 'PutItem', `{"TableName":"${TableName}","Item":{"pk":{"S":"\\ud83d\\ude00"}}}`)).status, 200);
    assert.deepEqual((await call(endpoint, 'GetItem', { TableName, Key: { pk: { S: '😀' } } })).json().Item, { pk: { S: '😀' } });
  });
  test('of duplicate names the last wins', async () => {
    const put = await call(endpoint, 'PutItem', `{"TableName":"nothing","TableName":"${TableName}","Item":{"pk":{"S":"twice"},"v":{"S":"first"},"v":{"S":"last"}}}`);
    assert.equal(put.status, 200, put.text);
    assert.deepEqual((await call(endpoint, 'GetItem', { TableName, Key: { pk: { S: 'twice' } } })).json().Item, { pk: { S: 'twice' }, v: { S: 'last' } });
  });
  test('numbers of 39 digits and of exponent 126', async () => {
    // Local takes minutes over the long ones.
    const long = isStator ? ['9'.repeat(1000000), `1e${'9'.repeat(100000)}`, `0.${'0'.repeat(1000000)}1`] : [];
    for (const N of ['9'.repeat(39), `0.${'1'.repeat(39)}`, '1e126', '-1e126', '1e-131', ...long]) {
      assertError(await call(endpoint, 'PutItem', { TableName, Item: { pk: { S: 'n' }, v: { N } } }), 400, VALIDATION);
    }
  });
});

describe('bodies of 16 MB', () => {
  const limit = 16 * 1024 * 1024;
  const bodyOf = (size) => {
    const frame = JSON.stringify({ TableName, Item: { pk: { S: '' } } });
    return Buffer.from(JSON.stringify({ TableName, Item: { pk: { S: 'x'.repeat(size - frame.length) } } }));
  };
  test('exactly', async () => assertError(await call(endpoint, 'PutItem', bodyOf(limit)), 400, VALIDATION));
  test('and one byte, announced', referenceOnly('other limits'), async () => {
    const body = bodyOf(limit + 1);
    const raw = await Raw.open();
    raw.socket.write(head({ ...signedHeaders('PutItem'), 'Content-Length': limit + 1 }));
    await raw.send(body);
    const answer = await raw.answer({ enough: whole });
    raw.close();
    assert.equal(statusOf(answer), 413, answer.slice(0, 300));
  });
  test('and one byte, in chunks', referenceOnly('other limits'), async () => {
    const body = bodyOf(limit + 1);
    const raw = await Raw.open();
    raw.socket.write(head({ ...signedHeaders('PutItem'), 'Transfer-Encoding': 'chunked' }));
    await raw.send(body, (part) => Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]));
    if (raw.received.length === 0 && !raw.ended) raw.socket.write('0\r\n\r\n');
    const answer = await raw.answer({ enough: whole });
    raw.close();
    assert.equal(statusOf(answer), 413, answer.slice(0, 300));
  });
  test('announced as terabytes', referenceOnly('other limits'), async () => {
    const answer = await exchange(head({ ...signedHeaders('PutItem'), 'Content-Length': 1e13 }));
    assert.equal(statusOf(answer), 413, answer.slice(0, 300));
  });
  test('unpacked from a small gzip', referenceOnly('takes no gzip'), async () => {
    const bomb = zlib.gzipSync(Buffer.alloc(200 * 1024 * 1024, 0x20), { level: 9 });
    const reply = await call(endpoint, 'PutItem', bomb, { headers: { 'Content-Encoding': 'gzip' } });
    assert.equal(reply.status, 413, reply.text.slice(0, 300));
  });
});

describe('wrong types at every place', () => {
  const item = { pk: { S: 'x' }, n: { N: '1' }, b: { B: 'AA==' }, l: { L: [{ S: 'a' }] }, m: { M: { k: { SS: ['a'] } } } };
  const noBackup = 'arn:aws:dynamodb:us-east-1:000000000000:table/none/backup/01795613126583-0a1b2c3d';
  const bodies = {
    CreateTable: {
      TableName: 'ab', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 }, BillingMode: 'PROVISIONED', Tags: [{ Key: 'a', Value: 'b' }], DeletionProtectionEnabled: true,
    },
    DescribeTable: { TableName }, UpdateTable: { TableName, ProvisionedThroughput: { ReadCapacityUnits: 0, WriteCapacityUnits: 1 }, BillingMode: 'PROVISIONED' },
    DeleteTable: { TableName: `${TableName}.none` }, ListTables: { Limit: 1, ExclusiveStartTableName: 'abc' },
    PutItem: { TableName, Item: item, Expected: { a: { Exists: false } }, ReturnValues: 'NONE', ReturnConsumedCapacity: 'TOTAL', ReturnItemCollectionMetrics: 'SIZE' },
    GetItem: { TableName, Key: { pk: { S: 'x' } }, ConsistentRead: true, AttributesToGet: ['a'], ReturnConsumedCapacity: 'NONE' },
    UpdateItem: { TableName, Key: { pk: { S: 'x' } }, UpdateExpression: 'SET #a = :v', ExpressionAttributeNames: { '#a': 'a' }, ExpressionAttributeValues: { ':v': { L: [{ N: '1' }] } }, ReturnValues: 'ALL_NEW' },
    DeleteItem: { TableName, Key: { pk: { S: 'x' } }, ConditionExpression: 'a <> :v', ExpressionAttributeValues: { ':v': { S: 'q' } } },
    BatchGetItem: { RequestItems: { [TableName]: { Keys: [{ pk: { S: 'x' } }], ConsistentRead: true, ProjectionExpression: '#a', ExpressionAttributeNames: { '#a': 'a' } } } },
    BatchWriteItem: { RequestItems: { [TableName]: [{ PutRequest: { Item: item } }, { DeleteRequest: { Key: { pk: { S: 'y' } } } }] } },
    Query: {
      TableName, KeyConditionExpression: 'pk = :p', FilterExpression: '#a = :v', ExpressionAttributeNames: { '#a': 'a' }, ExpressionAttributeValues: { ':p': { S: 'x' }, ':v': { NS: ['1'] } },
      Limit: 1, ScanIndexForward: true, ConsistentRead: false, Select: 'ALL_ATTRIBUTES', ExclusiveStartKey: { pk: { S: 'x' } },
    },
    Scan: { TableName, Segment: 0, TotalSegments: 1, Limit: 1, FilterExpression: 'attribute_exists(a)', ExclusiveStartKey: { pk: { S: 'x' } } },
    TagResource: { ResourceArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/none', Tags: [{ Key: 'a', Value: 'b' }] },
    UntagResource: { ResourceArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/none', TagKeys: ['a'] },
    ListTagsOfResource: { ResourceArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/none', NextToken: 'x' },
    UpdateTimeToLive: { TableName: 'none', TimeToLiveSpecification: { Enabled: true, AttributeName: 'a' } },
    UpdateContributorInsights: { TableName: 'none', IndexName: 'index', ContributorInsightsAction: 'ENABLE', ContributorInsightsMode: 'THROTTLED_KEYS' },
    DescribeContributorInsights: { TableName, IndexName: 'index' }, ListContributorInsights: { TableName, NextToken: 'x', MaxResults: 1 },
    CreateBackup: { TableName: 'none', BackupName: 'backup' },
    DescribeBackup: { BackupArn: noBackup }, DeleteBackup: { BackupArn: noBackup },
    ListBackups: {
      TableName: 'none', Limit: 1, TimeRangeLowerBound: 1795613126.5, TimeRangeUpperBound: 1795613127, ExclusiveStartBackupArn: noBackup, BackupType: 'ALL',
    },
    RestoreTableFromBackup: {
      TargetTableName: 'none', BackupArn: noBackup, BillingModeOverride: 'PROVISIONED',
      ProvisionedThroughputOverride: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 }, OnDemandThroughputOverride: { MaxReadRequestUnits: 1 },
      GlobalSecondaryIndexOverride: [{ IndexName: 'index', KeySchema: [{ AttributeName: 'a', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }],
      LocalSecondaryIndexOverride: [], SSESpecificationOverride: { Enabled: false }, VectorIndexOverride: [],
    },
    UpdateContinuousBackups: { TableName: 'none', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 1 } },
    RestoreTableToPointInTime: {
      SourceTableName: 'none', SourceTableArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/none', TargetTableName: 'none',
      UseLatestRestorableTime: true, RestoreDateTime: 1795613126.5, BillingModeOverride: 'PROVISIONED',
      ProvisionedThroughputOverride: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 }, OnDemandThroughputOverride: { MaxReadRequestUnits: 1 },
      GlobalSecondaryIndexOverride: [], LocalSecondaryIndexOverride: [], SSESpecificationOverride: { Enabled: false }, VectorIndexOverride: [],
    },
    ExportTableToPointInTime: {
      TableArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/none', ExportTime: 1795613126.5, ClientToken: 'a', S3Bucket: 'bucket', S3BucketOwner: '000000000000',
      S3Prefix: 'a', S3SseAlgorithm: 'KMS', S3SseKmsKeyId: 'a', ExportFormat: 'ION', ExportType: 'INCREMENTAL_EXPORT',
      IncrementalExportSpecification: { ExportFromTime: 1795613126, ExportToTime: 1795613127, ExportViewType: 'NEW_IMAGE' },
      FilterSpecification: { FilterExpression: '#a = :v', ExpressionAttributeNames: { '#a': 'a' }, ExpressionAttributeValues: { ':v': { S: 'x' } } },
    },
    DescribeExport: { ExportArn: noBackup.replace('backup', 'export') },
    ListExports: { TableArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/none', MaxResults: 1, NextToken: 'x' },
    ImportTable: {
      ClientToken: 'a', S3BucketSource: { S3BucketOwner: '000000000000', S3Bucket: 'none', S3KeyPrefix: 'a' }, InputFormat: 'CSV', InputCompressionType: 'GZIP',
      InputFormatOptions: { Csv: { Delimiter: ',', HeaderList: ['a'] } },
      TableCreationParameters: {
        TableName: 'none', AttributeDefinitions: [{ AttributeName: 'a', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'a', KeyType: 'HASH' }],
        BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 }, OnDemandThroughput: { MaxReadRequestUnits: 1 },
        SSESpecification: { Enabled: false }, VectorIndexes: [],
        GlobalSecondaryIndexes: [{ IndexName: 'index', KeySchema: [{ AttributeName: 'a', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }],
      },
    },
    DescribeImport: { ImportArn: noBackup.replace('backup', 'import') },
    ListImports: { TableArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/none', PageSize: 1, NextToken: '0'.repeat(112) },
    StartBulkPutItems: {
      ClientToken: 'a', TableName: 'none', MaxWriteRequestUnits: 1024, PerformanceTier: 'STANDARD',
      InputS3Configuration: { S3BucketOwner: '000000000000', S3Bucket: 'none', S3KeyPrefix: 'a', InputFormat: 'ION', InputCompressionType: 'GZIP' },
      OutputS3Configuration: {
        S3BucketOwner: '000000000000', S3Bucket: 'none', S3KeyPrefix: 'a', S3SseAlgorithm: 'KMS', S3SseKmsKeyId: 'a', OutputType: ['ERROR', 'CONDITION_CHECK_FAILURE'],
      },
    },
    DescribeBulkOperation: { BulkOperationArn: noBackup.replace('backup', 'bulk-operation') },
    CancelBulkOperation: { BulkOperationArn: noBackup.replace('backup', 'bulk-operation') },
    ListBulkOperations: { MaxResults: 1, NextToken: '0'.repeat(112) },
    DescribeTimeToLive: { TableName }, DescribeContinuousBackups: { TableName }, DescribeLimits: {}, DescribeEndpoints: {},
  };
  const wrong = [1, -1, 1.5, 1e300, true, false, 'x', '', [], [[]], [1], ['x'], {}, { x: 1 }, { S: { S: {} } }, [{}], null, '\u0000', 9007199254740993, 'x'.repeat(3000)];
  const places = function* (value, path = []) {
    yield path;
    if (value === null || typeof value !== 'object') return;
    for (const name of Object.keys(value)) yield* places(value[name], [...path, name]);
  };
  const replaced = (value, [first, ...rest], by) => {
    if (first === undefined) return by;
    const copy = Array.isArray(value) ? [...value] : { ...value };
    copy[first] = replaced(value[first], rest, by);
    return copy;
  };
  for (const [operation, body] of Object.entries(bodies)) {
    test(operation, async () => {
      const tries = [];
      for (const path of places(body)) {
        for (const by of wrong) {
          // Replacing the name itself could only hit another table; DeleteTable must not find one.
          tries.push({ path, by });
        }
      }
      const worker = async () => {
        for (let next = tries.pop(); next; next = tries.pop()) {
          const { path, by } = next;
          const about = `${operation} ${path.join('.')} = ${JSON.stringify(by)?.slice(0, 80)}`;
          const reply = await call(endpoint, operation, JSON.stringify(replaced(body, path, by))).catch((error) => assert.fail(`${about}: ${error.message}`));
          if (!isStator && reply.status >= 500) continue;
          assert.ok([200, 400].includes(reply.status), `${about}: ${reply.status} ${reply.text}`);
          if (reply.status === 400) {
            const { __type } = reply.json();
            if (isStator) assert.match(__type, /^com\.amazon(\.coral\.(service|validate)|aws\.dynamodb\.v20120810)#[A-Za-z]+(Exception|Exceeded)$/, `${about}: ${reply.text}`);
          }
        }
      };
      await Promise.all(Array.from({ length: 8 }, worker));
      await call(endpoint, 'PutItem', { TableName, Item: witness });
    });
  }
});

describe('targets, methods and headers', () => {
  const headers = signedHeaders('ListTables');
  const except = (...names) => Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
  for (const target of ['DynamoDB_20120810.Nothing', 'DynamoDB_20120810.', 'DynamoDB_20120810', 'DynamoDB_20120810.listtables', 'Nothing.ListTables', 'DynamoDB_20111205.ListTables', '.', 'x'.repeat(5000)]) {
    test(`target ${target.slice(0, 60)}`, async () => {
      assertError(await request(endpoint, { headers: { ...headers, 'X-Amz-Target': target }, body: '{}' }), 400, UNKNOWN);
    });
  }
  test('no target', async () => assertError(await request(endpoint, { headers: except('X-Amz-Target'), body: '{}' }), 400, UNKNOWN));
  test('the body is read before the target', referenceOnly('otherwise'), async () => {
    assertError(await request(endpoint, { headers: { ...headers, 'X-Amz-Target': 'Nothing' }, body: '{' }), 400, SERIALIZATION);
  });
  for (const type of ['text/plain', 'application/x-amz-json-9.9', 'application/x-www-form-urlencoded', '']) {
    test(`content type ${JSON.stringify(type)}`, referenceOnly('otherwise'), async () => {
      const reply = await request(endpoint, { headers: { ...headers, 'Content-Type': type }, body: '{}' });
      assert.equal(reply.status, 404, reply.text);
      assert.equal(reply.text, '<UnknownOperationException/>\n');
    });
  }
  for (const method of ['PUT', 'DELETE', 'PATCH', 'TRACE', 'BREW']) {
    test(`method ${method}`, referenceOnly('otherwise'), async () => {
      const answer = await exchange(head({ ...headers, 'Content-Length': 2 }, { method }) + '{}');
      assert.ok([404, 400, 405, 501].includes(statusOf(answer)), answer.slice(0, 300));
      if (['PUT', 'DELETE', 'PATCH'].includes(method)) {
        assert.equal(statusOf(answer), 404, answer.slice(0, 300));
        assert.ok(answer.endsWith('<UnknownOperationException/>\n'), answer.slice(0, 500));
      }
    });
  }
  test('no Authorization', referenceOnly('otherwise'), async () => {
    assertError(await request(endpoint, { headers: except('Authorization'), body: '{}' }), 400, 'com.amazon.coral.service#MissingAuthenticationTokenException');
  });
  test('no headers at all', async () => {
    const answer = await exchange('POST / HTTP/1.1\r\n\r\n');
    assert.ok(statusOf(answer) >= 400 && statusOf(answer) < 500, answer.slice(0, 300));
  });
  test('a header of 1 MB', referenceOnly('other limits'), async () => {
    const answer = await exchange(head({ ...headers, 'X-Large': 'x'.repeat(1024 * 1024), 'Content-Length': 2 }) + '{}');
    assert.equal(statusOf(answer), 400, answer.slice(0, 300));
  });
  test('a header of 1 MB that does not end', referenceOnly('other limits'), async () => {
    const answer = await exchange(`POST / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(1024 * 1024)}`);
    assert.equal(statusOf(answer), 400, answer.slice(0, 300));
  });
  test('a request line of 1 MB', referenceOnly('other limits'), async () => {
    const answer = await exchange(head(headers, { path: `/${'x'.repeat(1024 * 1024)}` }));
    assert.equal(statusOf(answer), 400, answer.slice(0, 300));
  });
  test('headers of 17 KB in all, and of 15', referenceOnly('other limits'), async () => {
    const many = (count) => Object.fromEntries(Object.entries({ ...headers, 'Content-Length': 2 }).concat(Array.from({ length: count }, (_, i) => [`X-H${String(i).padStart(4, '0')}`, 'x'.repeat(91)])));
    assert.equal(statusOf(await exchange(head(many(170)) + '{}')), 400);
    assert.equal(statusOf(await exchange(head(many(140)) + '{}')), 200);
  });
});

describe('broken HTTP', { skip: !isStator && 'their own ways' }, () => {
  const list = { ...signedHeaders('ListTables') };
  const cases = {
    'random bytes': Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919 + 13) % 256)),
    'a TLS hello': Buffer.from('1603010200010001fc0303', 'hex'),
    'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a line without a version': 'POST /\r\n\r\n',
    'a version from the future': 'POST / HTTP/9.9\r\nHost: x\r\n\r\n',
    'a negative length': head({ ...list, 'Content-Length': -1 }) + '{}',
    'a length that is no number': head({ ...list, 'Content-Length': '2x' }) + '{}',
    'a length beyond 64 bits': head({ ...list, 'Content-Length': '99999999999999999999999999' }) + '{}',
    'two lengths that differ': head(list).replace('\r\n\r\n', '\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n') + '{} ',
    'a length and chunks': head({ ...list, 'Content-Length': 2, 'Transfer-Encoding': 'chunked' }) + '2\r\n{}\r\n0\r\n\r\n',
    'an unknown transfer encoding': head({ ...list, 'Transfer-Encoding': 'rot13' }) + '{}',
    'a chunk size that is no number': head({ ...list, 'Transfer-Encoding': 'chunked' }) + 'zz\r\n{}\r\n0\r\n\r\n',
    'a chunk size beyond 64 bits': head({ ...list, 'Transfer-Encoding': 'chunked' }) + 'ffffffffffffffffffffff\r\n{}\r\n0\r\n\r\n',
    'a chunk longer than its size': head({ ...list, 'Transfer-Encoding': 'chunked' }) + '1\r\n{}\r\n0\r\n\r\n',
    'a header without a colon': 'POST / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n',
    'a space before the colon': 'POST / HTTP/1.1\r\nHost : x\r\n\r\n',
    'a NUL in a header': 'POST / HTTP/1.1\r\nHost: x\r\nX: a\u0000b\r\n\r\n',
  };
  for (const [title, bytes] of Object.entries(cases)) {
    test(title, async () => {
      const raw = await Raw.open();
      raw.socket.write(bytes);
      raw.socket.end();
      const answer = await raw.answer();
      assert.ok(raw.ended, 'the connection stays open');
      raw.close();
      // Nothing, or one refusal: never a success.
      if (answer !== '') assert.ok([400, 404, 411, 413, 501, 505].includes(statusOf(answer)), answer.slice(0, 300));
    });
  }
  test('a body that ends before its length', async () => {
    const raw = await Raw.open();
    raw.socket.write(head({ ...signedHeaders('PutItem'), 'Content-Length': 1000 }) + JSON.stringify({ TableName, Item: { pk: { S: 'half' } } }));
    raw.socket.end();
    const answer = await raw.answer();
    raw.close();
    assert.notEqual(statusOf(answer), 200);
    assert.equal((await call(endpoint, 'GetItem', { TableName, Key: { pk: { S: 'half' } } })).text, '{}');
  });
  test('resets in the middle of bodies', async () => {
    for (let i = 0; i < 200; i++) {
      const raw = await Raw.open();
      raw.socket.write(head({ ...signedHeaders('PutItem'), 'Content-Length': 100000 }) + 'x'.repeat(i * 10));
      raw.socket.resetAndDestroy();
    }
  });
  test('clients that leave before the answer', async () => {
    for (let i = 0; i < 200; i++) {
      const raw = await Raw.open();
      raw.socket.write(head({ ...list, 'Content-Length': 2 }) + '{}');
      if (i % 2) raw.socket.resetAndDestroy();
      else raw.close();
    }
  });
});

describe('connections', () => {
  test('pipelined requests are answered in order', async () => {
    const raw = await Raw.open();
    const count = 100;
    let bytes = '';
    for (let i = 0; i < count; i++) {
      const body = JSON.stringify({ TableName: `missing-${i}`, Key: { pk: { S: `${i}` } } });
      bytes += i % 2 ? head({ ...signedHeaders('ListTables'), 'Content-Length': 2 }) + '{}' : head({ ...signedHeaders('GetItem'), 'Content-Length': body.length }) + body;
    }
    raw.socket.write(bytes);
    const answer = await raw.answer({ enough: (text) => text.split('HTTP/1.1 ').length > count });
    await delay(20);
    raw.close();
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
    assert.deepEqual(statuses, Array.from({ length: count }, (_, i) => (i % 2 ? 200 : 400)));
  });
  test('requests that arrive a byte at a time; others are served meanwhile', async () => {
    const slow = await Promise.all(Array.from({ length: 20 }, () => Raw.open()));
    const bytes = head({ ...signedHeaders('GetItem'), 'Content-Length': JSON.stringify({ TableName, Key }).length }) + JSON.stringify({ TableName, Key });
    let served = 0;
    let finished = false;
    const others = (async () => {
      for (; !finished; served++) await stillServes();
    })();
    for (const [i, byte] of [...bytes].entries()) {
      for (const raw of slow) raw.socket.write(byte);
      await delay(2);
      if (i !== bytes.length >> 1) continue;
      // Nothing more comes until others have been served beside the half requests.
      const before = served;
      for (const end = Date.now() + 60000; served < before + 3 && Date.now() < end;) await delay(2);
      assert.ok(served >= before + 3, `others were served ${served - before} times while requests were half there`);
    }
    for (const raw of slow) await raw.answer({ enough: whole });
    finished = true;
    await others;
    for (const raw of slow) {
      const answer = await raw.answer({ enough: whole });
      assert.equal(statusOf(answer), 200, answer.slice(0, 300));
      assert.ok(answer.includes('still here'));
    }
    for (const raw of slow) raw.close();
  });
  test('clients that do not read their answers', async () => {
    const large = { pk: { S: 'large' }, v: { S: 'x'.repeat(300000) } };
    assert.equal((await call(endpoint, 'PutItem', { TableName, Item: large })).status, 200);
    const body = JSON.stringify({ TableName, Key: { pk: large.pk } });
    const one = head({ ...signedHeaders('GetItem'), 'Content-Length': body.length }) + body;
    const deaf = await Promise.all(Array.from({ length: 10 }, async () => {
      const raw = await Raw.open();
      raw.socket.pause();
      raw.socket.write(one.repeat(200));
      return raw;
    }));
    for (let i = 0; i < 50; i++) await stillServes();
    for (const raw of deaf) raw.close();
  });
  const idleCount = Number(process.env.STATOR_IDLE_CONNECTIONS ?? 2000);
  test(`${idleCount} idle connections, and another client is served`, { timeout: 120000, ...referenceOnly('not measured') }, async () => {
    const idle = [];
    try {
      for (let from = 0; from < idleCount; from += 100) {
        const some = await Promise.all(Array.from({ length: Math.min(100, idleCount - from) }, (_, i) => new Promise((resolve, reject) => {
          const socket = net.connect({ host: hostname, port });
          socket.once('connect', () => {
            // A third says nothing, a third stops within its headers, a third within its body.
            if (i % 3 === 1) socket.write('POST / HTTP/1.1\r\nHost: x\r\n');
            if (i % 3 === 2) socket.write(head({ ...signedHeaders('GetItem'), 'Content-Length': 100 }) + '{');
            resolve(socket);
          });
          socket.once('error', reject);
        })));
        for (const socket of some) socket.on('error', () => {});
        idle.push(...some);
      }
      assert.equal(idle.length, idleCount);
      const watch = server && watchOf(server);
      for (let i = 0; i < 100; i++) await stillServes();
      const each = server ? watch.millis / 100 : 0;
      assert.ok(each < 200, `${each} ms a request`);
    } finally {
      for (const socket of idle) socket.destroy();
    }
  });
});
