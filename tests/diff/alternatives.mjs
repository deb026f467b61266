// The lines of README's table: what Stator, DynamoDB Local and dynalite do with the same request. Each line has its words for
// each server and a probe that returns a server's answer in short; `is` says which answers make the words true.
// alternatives.test.mjs asks all three.
import http from 'node:http';

/** Sends a request with a signature of the right shape that nobody made. Resolves to {status, body, headers}. */
export function ask(url, target, payload, { path = '/', headers = {}, method = 'POST' } = {}) {
  const { hostname, port } = new URL(url);
  const signed = {
    'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': target, 'X-Amz-Date': new Date().toISOString().replace(/[-:]|\.\d+/g, ''),
    Authorization: `AWS4-HMAC-SHA256 Credential=AKIDALTERNATIVE00000/${new Date().toISOString().slice(0, 10).replaceAll('-', '')}/us-east-1/dynamodb/aws4_request, ` +
      `SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=${'a'.repeat(64)}`,
  };
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, path, method, headers: { ...(target ? signed : {}), ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => { text += chunk; }).on('error', reject).on('end', () => {
        let body;
        try {
          body = JSON.parse(text);
        } catch {
          body = undefined;
        }
        resolve({ status: response.statusCode, headers: response.headers, body });
      });
    });
    request.on('error', reject);
    request.end(typeof payload === 'string' ? payload : payload === undefined ? undefined : JSON.stringify(payload));
  });
}

const call = (server, operation, body) => ask(server.url, `DynamoDB_20120810.${operation}`, body);
const errorOf = ({ body }) => body?.__type?.split('#').at(-1);
// "done", or the name of the error.
const outcome = (answer) => (answer.status === 200 ? 'done' : errorOf(answer) ?? String(answer.status));

let tables = 0;
async function table(server, more = {}) {
  const TableName = `alternatives-${++tables}`;
  const created = await call(server, 'CreateTable', {
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], ...more,
  });
  const status = created.body?.TableDescription?.TableStatus;
  if (created.status !== 200) throw new Error(`CreateTable: ${JSON.stringify(created.body)}`);
  for (let i = 0; i < 2400; i++) {
    const { body } = await call(server, 'DescribeTable', { TableName });
    if (body.Table.TableStatus === 'ACTIVE') return { TableName, status, arn: body.Table.TableArn, stream: body.Table.LatestStreamArn };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${TableName} does not become ACTIVE`);
}

const management = (server, method, path, body) => ask(server.url, undefined, body, { method, path, headers: { 'X-Stator-Management': 'true', 'Content-Type': 'application/json' } });

const unknown = 'UnknownOperationException';

/**
 * `words`: of Stator, DynamoDB Local and dynalite. `is`: the answer of the probe that each must give, a text or a pattern.
 * `more`: a file that shows Stator's side at length.
 */
export const kLines = [
  {
    subject: 'TransactWriteItems', words: ['yes', 'yes', 'no'], is: ['done', 'done', unknown], more: 'tests/sdk/transactions.test.mjs',
    async probe(server) {
      const { TableName } = await table(server);
      return outcome(await call(server, 'TransactWriteItems', { TransactItems: [{ Put: { TableName, Item: { pk: { S: 'a' } } } }] }));
    },
  },
  {
    subject: 'PartiQL', words: ['yes', 'yes', 'no'], is: ['done', 'done', unknown], more: 'tests/sdk/partiql.test.mjs',
    async probe(server) {
      const { TableName } = await table(server);
      return outcome(await call(server, 'ExecuteStatement', { Statement: `SELECT * FROM "${TableName}"` }));
    },
  },
  {
    subject: 'streams', words: ['a shard for each partition', 'one shard', 'no'], is: [/^([2-9]|\d\d) shards$/, '1 shards', unknown], more: 'tests/sdk/streams.test.mjs',
    async probe(server) {
      const { stream } = await table(server, {
        BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 9000, WriteCapacityUnits: 3000 },
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
      });
      const answer = await ask(server.url, 'DynamoDBStreams_20120810.DescribeStream', { StreamArn: stream ?? 'none' });
      return answer.status === 200 ? `${answer.body.StreamDescription.Shards.length} shards` : outcome(answer);
    },
  },
  {
    subject: 'time to live', words: ['yes', 'yes', 'no'], is: ['done', 'done', unknown], more: 'tests/sdk/time_to_live.test.mjs',
    async probe(server) {
      const { TableName } = await table(server);
      return outcome(await call(server, 'UpdateTimeToLive', { TableName, TimeToLiveSpecification: { Enabled: true, AttributeName: 'ends' } }));
    },
  },
  {
    subject: 'backups', words: ['yes, on one machine', 'no', 'no'], is: ['done', unknown, unknown], more: 'tests/sdk/backup.test.mjs',
    async probe(server) {
      const { TableName } = await table(server);
      return outcome(await call(server, 'CreateBackup', { TableName, BackupName: 'alternatives' }));
    },
  },
  {
    subject: 'resource policies', args: ['--auth=warn'], words: ['yes, with access control on', 'no', 'no'], is: ['done', unknown, unknown], more: 'tests/access/resource_policies.test.mjs',
    async probe(server) {
      const { arn } = await table(server);
      const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Principal: { AWS: '000000000000' }, Action: 'dynamodb:GetItem', Resource: arn }] });
      return outcome(await call(server, 'PutResourcePolicy', { ResourceArn: arn ?? 'none', Policy }));
    },
  },
  {
    subject: 'a signature that is wrong', words: ['refused with `--auth=enforce`', 'accepted', 'accepted'], is: [/^(InvalidSignature|UnrecognizedClient)Exception$/, 'done', 'done'],
    args: ['--auth=enforce'], more: 'tests/access/enforce.test.mjs',
    probe: async (server) => outcome(await call(server, 'ListTables', {})),
  },
  {
    subject: 'writes beyond provisioned throughput', words: ['refused with `--throttling=enforce`, with the limit and a cure', 'accepted', 'accepted'],
    is: ['ProvisionedThroughputExceededException, 2 (so far) of 1 provisioned write units', 'done', 'done'], args: ['--throttling=enforce', '--clock=manual'], more: 'tests/sdk/throttling.test.mjs',
    async probe(server) {
      const { TableName } = await table(server, { BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } });
      for (let i = 0; i < 100; i++) {
        const answer = await call(server, 'PutItem', { TableName, Item: { pk: { S: 'hot' } } });
        if (answer.status !== 200) return `${outcome(answer)}, ${answer.body.message.match(/\d+ (\(so far\) )?of \d+ provisioned write units/)?.[0]}`;
      }
      return 'done';
    },
  },
  {
    subject: 'a clock that a test moves', words: ['yes', 'no', 'no'], is: ['moves a table\'s date', 'does not', 'does not'], args: ['--clock=manual'], more: 'tests/sdk/clock.test.mjs',
    async probe(server) {
      const created = async () => (await call(server, 'DescribeTable', { TableName: (await table(server)).TableName })).body.Table.CreationDateTime;
      const before = await created();
      await management(server, 'POST', '/_stator/clock', { advance: '24h' });
      return (await created()) - before >= 24 * 3600 ? 'moves a table\'s date' : 'does not';
    },
  },
  {
    subject: 'faults on demand', words: ['yes', 'no', 'no'], is: ['InternalServerError', 'done', 'done'], more: 'tests/sdk/faults.test.mjs',
    async probe(server) {
      const { TableName } = await table(server);
      await management(server, 'PUT', `/_stator/faults/${TableName}`, { faults: [{ fault: 'error', probability: 1 }] });
      return outcome(await call(server, 'PutItem', { TableName, Item: { pk: { S: 'a' } } }));
    },
  },
  {
    subject: 'a console in the browser', words: ['yes', 'no', 'no'], is: ['text/html', 'none', 'none'], more: 'tests/console/frame.test.mjs',
    async probe(server) {
      const { status, headers } = await ask(server.url, undefined, undefined, { path: '/console/', method: 'GET' });
      return status === 200 && /^text\/html/.test(headers['content-type']) ? 'text/html' : 'none';
    },
  },
  {
    subject: 'status of a new table', words: ['CREATING', 'ACTIVE', 'CREATING'], is: ['CREATING', 'ACTIVE', 'CREATING'], more: 'tests/sdk/tables.test.mjs',
    probe: async (server) => (await table(server)).status,
  },
  {
    subject: 'a body that is not JSON', words: ['SerializationException', '500', 'SerializationException'], is: ['SerializationException', 'InternalFailure', 'SerializationException'],
    more: 'tests/hostile/hostile.test.mjs',
    probe: async (server) => outcome(await call(server, 'PutItem', '{"TableName": ')),
  },
  {
    subject: 'the message about a missing table', words: ["the service's", 'its own', "the service's"],
    is: ['Requested resource not found', 'Cannot do operations on a non-existent table', 'Requested resource not found'], more: 'tests/scripts/messages.txt',
    async probe(server) {
      const { body } = await call(server, 'GetItem', { TableName: 'missing', Key: { pk: { S: 'a' } } });
      return body.message ?? body.Message;
    },
  },
];

/** The rows of README's table for these lines. */
export const rows = () => kLines.map(({ subject, words, more }) => [`[${subject}](${more})`, ...words]);
