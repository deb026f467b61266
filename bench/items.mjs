// The tables and items of the benchmark, and a small DynamoDB client to load them. Items are 1,024 bytes by DynamoDB's
// rules (100 in bench_small) and look like those that wrk/dynamodb.lua writes.
import http from 'node:http';

const kAlphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const pool = (() => {
  let state = 12345;
  let text = '';
  for (let i = 0; i < 65536; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    text += kAlphabet[(state >>> 16) % kAlphabet.length];
  }
  return text;
})();
const data = (i, length) => {
  const at = (i * 977) % (pool.length - length);
  return pool.slice(at, at + length);
};

export const item = (i) => ({
  pk: { S: `user#${String(i).padStart(8, '0')}` }, v: { N: '1' }, tag: { S: `tag-${String(i % 100).padStart(2, '0')}` },
  data: { S: data(i, 993) },
});

export const kCollection = 20; // items of one partition key in the table for Query
const collectionItem = (i, length) => ({
  pk: { S: `coll#${String(Math.floor(i / kCollection)).padStart(8, '0')}` }, sk: { N: String(i % kCollection + 10) },
  v: { N: '1' }, data: { S: data(i, length) },
});
const queryItem = (i) => collectionItem(i, 998);
const smallItem = (i) => collectionItem(i, 74);

export class Client {
  constructor(port, connections = 16) {
    this.port = port;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  }

  call(operation, input) {
    const body = typeof input === 'string' ? input : JSON.stringify(input);
    const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    return new Promise((resolve, reject) => {
      const request = http.request({
        host: '127.0.0.1', port: this.port, method: 'POST', path: '/', agent: this.agent,
        headers: {
          'Content-Type': 'application/x-amz-json-1.0', 'Content-Length': Buffer.byteLength(body),
          'X-Amz-Target': `DynamoDB_20120810.${operation}`, 'X-Amz-Date': date,
          Authorization: `AWS4-HMAC-SHA256 Credential=AKID/${date.slice(0, 8)}/us-east-1/dynamodb/aws4_request, `
            + `SignedHeaders=host;x-amz-date;x-amz-target, Signature=${'0'.repeat(64)}`,
        },
      }, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode !== 200) reject(new Error(`${operation}: ${response.statusCode} ${text.slice(0, 300)}`));
          else resolve(text === '' ? {} : JSON.parse(text));
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  // `index`: the attribute, a string, of a global index that projects everything. `more`: other members of the request.
  async createTable(name, keys, { index, ...more } = {}) {
    await this.call('CreateTable', {
      TableName: name, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [...keys, ...(index ? [[index, 'S']] : [])].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
      KeySchema: keys.map(([AttributeName], i) => ({ AttributeName, KeyType: i === 0 ? 'HASH' : 'RANGE' })),
      ...(index && { GlobalSecondaryIndexes: [
        { IndexName: 'by_' + index, KeySchema: [{ AttributeName: index, KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }] }),
      ...more,
    });
    for (;;) {
      const { Table } = await this.call('DescribeTable', { TableName: name });
      if (Table.TableStatus === 'ACTIVE') return;
    }
  }

  async fill(table, makeItem, count, connections = 16) {
    let next = 0;
    const worker = async () => {
      while (next < count) {
        const from = next;
        next += 25;
        const puts = [];
        for (let i = from; i < Math.min(from + 25, count); i++) puts.push({ PutRequest: { Item: makeItem(i) } });
        let request = { [table]: puts };
        while (Object.keys(request).length > 0) {
          request = (await this.call('BatchWriteItem', { RequestItems: request })).UnprocessedItems ?? {};
        }
      }
    };
    await Promise.all(Array.from({ length: connections }, worker));
  }

  close() { this.agent.destroy(); }
}

// The tables that the workloads need.
export async function loadTables(port, count, workloads) {
  const client = new Client(port);
  await client.createTable('bench', [['pk', 'S']]);
  await client.fill('bench', item, count);
  if (workloads.includes('putstream')) {
    await client.createTable('bench_stream', [['pk', 'S']],
      { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } });
    await client.fill('bench_stream', item, count);
  }
  if (workloads.includes('putpitr')) {
    await client.createTable('bench_pitr', [['pk', 'S']]);
    await client.call('UpdateContinuousBackups', { TableName: 'bench_pitr', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
    await client.fill('bench_pitr', item, count);
  }
  const one = await client.call('GetItem', { TableName: 'bench', Key: { pk: item(count - 1).pk } });
  if (one.Item?.data?.S !== item(count - 1).data.S) throw new Error('the item that was loaded last does not read back');
  for (const [table, makeItem, users] of [['bench_query', queryItem, ['query']], ['bench_small', smallItem, ['smallget', 'smallquery']]]) {
    if (!users.some((w) => workloads.includes(w))) continue;
    await client.createTable(table, [['pk', 'S'], ['sk', 'N']]);
    await client.fill(table, makeItem, count);
    const page = await client.call('Query', {
      TableName: table, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': makeItem(count - 1).pk },
    });
    if (page.Count !== kCollection) throw new Error(`a query of ${kCollection} items returned ${page.Count}`);
  }
  if (workloads.includes('gsiput') || workloads.includes('gsimove')) {
    await client.createTable('bench_gsi', [['pk', 'S']], { index: 'tag' });
    await client.fill('bench_gsi', item, count);
  }
  client.close();
}
