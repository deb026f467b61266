// stator export and stator import: the binary as a client of the binary (docs/import-export.md). A proxy between both decides when a
// command is killed, which answers are throttled and what leaves items out.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';

import { Server, binary, call, isStator, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const skip = !own && 'needs a server of its own';

// Forwards requests. `hook(operation, body)` may answer itself with {status, body}.
class Proxy {
  static async to(endpoint) {
    const proxy = new Proxy();
    proxy.hook = () => undefined;
    proxy.server = http.createServer(async (asked, reply) => {
      try {
        const chunks = [];
        for await (const chunk of asked) chunks.push(chunk);  // throws where the client is killed while it sends
        const body = Buffer.concat(chunks);
        const operation = (asked.headers['x-amz-target'] ?? '').split('.')[1];
        const own = await proxy.hook(operation, body);
        if (own === 'hang') return;
        const answer = own ?? await request(endpoint, { method: asked.method, path: asked.url, headers: { ...asked.headers }, body });
        reply.writeHead(answer.status, { 'Content-Type': 'application/x-amz-json-1.0' });
        reply.end(answer.body);
      } catch {
        reply.destroy();
      }
    });
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    proxy.endpoint = `http://127.0.0.1:${proxy.server.address().port}`;
    return proxy;
  }
  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const refusal = (type, message, status = 400) => ({
  status, body: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message }),
});

describe('stator export and import', { skip }, () => {
  let server, proxy, folder;
  const environment = { PATH: process.env.PATH, HOME: '/nonexistent', AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' };
  before(async () => {
    server = await Server.start();
    proxy = await Proxy.to(server.endpoint);
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-bulk-'));
  });
  after(async () => {
    proxy.close();
    fs.rmSync(folder, { recursive: true });
    assert.equal((await server.stop()).code, 0, server.output);
  });

  const at = (name) => path.join(folder, name);
  const ddb = async (operation, body) => {
    const reply = await call(server.endpoint, operation, body);
    assert.equal(reply.status, 200, reply.text);
    return reply.json();
  };
  // Starts the command. `.ended` resolves to {code, signal, stdout, stderr}.
  const start = (...words) => {
    const child = spawn(binary, [...words, '--endpoint-url', proxy.endpoint], { env: environment });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => { said[name] += chunk; });
    child.ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...said }));
    return child;
  };
  const stator = (...words) => start(...words).ended;
  const works = async (...words) => {
    const ended = await stator(...words);
    assert.equal(ended.code, 0, `${ended.stdout}${ended.stderr}`);
    return ended;
  };
  const fails = async (pattern, ...words) => {
    const ended = await stator(...words);
    assert.equal(ended.code, 1, `${ended.stdout}${ended.stderr}`);
    assert.match(ended.stderr, pattern);
    return ended;
  };

  let tables = 0;
  const makeTable = async (name = `Bulk${tables++}`) => {
    await ddb('CreateTable', {
      TableName: name, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    });
    while ((await ddb('DescribeTable', { TableName: name })).Table.TableStatus !== 'ACTIVE');
    return name;
  };
  const fill = async (table, items) => {
    for (let i = 0; i < items.length; i += 25) {
      const answer = await ddb('BatchWriteItem', {
        RequestItems: { [table]: items.slice(i, i + 25).map((Item) => ({ PutRequest: { Item } })) },
      });
      assert.deepEqual(answer.UnprocessedItems, {});
    }
  };
  const sorted = (value, within) => {
    if (Array.isArray(value)) return ['SS', 'NS', 'BS'].includes(within) ? [...value].sort() : value.map((one) => sorted(one));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key], key)]));
  };
  const itemsOf = async (table) => {
    const items = [];
    let ExclusiveStartKey;
    do {
      const page = await ddb('Scan', { TableName: table, ConsistentRead: true, ExclusiveStartKey });
      items.push(...page.Items);
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    return items.map((item) => JSON.stringify(sorted(item))).sort();
  };
  const assertSameTables = async (one, other) => assert.deepEqual(await itemsOf(one), await itemsOf(other));

  const everyType = [
    {
      pk: { S: 'all' }, sk: { N: '1' }, s: { S: 'a "b",\n\u00e4\u{1f600}' }, n: { N: '12345678901234567890123456789012345678' }, b: { B: 'AAH/' },
      bool: { BOOL: false }, nil: { NULL: true }, l: { L: [{ N: '-0.5' }, { L: [] }, { M: {} }] }, m: { M: { $B: { S: 'plain' } } },
      ss: { SS: ['x', 'y'] }, ns: { NS: ['1', '2.5'] }, bs: { BS: ['AA==', 'AQ=='] }, empty: { S: '' },
    },
    { pk: { S: 'small' }, sk: { N: '-1.5' } },
  ];
  const flat = [
    { pk: { S: 'a,b' }, sk: { N: '1' }, text: { S: 'say "x"\r\ny' }, n: { N: '7.25' }, b: { B: 'AAH/' } },
    { pk: { S: 'c' }, sk: { N: '2' }, text: { S: '' } },
    { pk: { S: 'd' }, sk: { N: '3' } },
  ];
  const many = (count, bytes = 1000) => Array.from({ length: count }, (_, i) => ({
    pk: { S: `item ${i}` }, sk: { N: String(i) }, pad: { S: `${i} `.padEnd(bytes, 'x') }, mail: { S: `person${i}@home.example` },
  }));

  for (const [format, extension] of [['dynamodb-json', 'json'], ['json-lines', 'jsonl'], ['dynamodb-json', 'json.gz'], ['json-lines', 'jsonl.gz']]) {
    test(`all ten types come back from ${format} in .${extension}`, async () => {
      const source = await makeTable();
      await fill(source, everyType);
      const file = at(`types-${source}.${extension}`);
      const { stdout } = await works('export', source, '--to', file, '--format', format, '--segments', '3');
      assert.match(stdout, /^2 items/);
      assert.ok(!fs.existsSync(`${file}.progress`));
      const target = await makeTable();
      await works('import', target, '--from', file);
      await assertSameTables(source, target);
      assert.ok(!fs.existsSync(`${file}.import-progress`) && !fs.existsSync(`${file}.errors`));
    });
  }

  test('a line of dynamodb-json is that of an export of DynamoDB', async () => {
    const source = await makeTable();
    await fill(source, [{ pk: { S: 'a' }, sk: { N: '1' } }]);
    await works('export', source, '--to', at('line.json.gz'));
    assert.equal(zlib.gunzipSync(fs.readFileSync(at('line.json.gz'))).toString(), '{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}\n');
  });

  test('CSV keeps flat items, and says which columns are no text', async () => {
    const source = await makeTable();
    await fill(source, flat);
    const { stdout } = await works('export', source, '--to', at('flat.csv'), '--format', 'csv');
    const types = /--types (\S+)/.exec(stdout)[1];
    assert.equal(types, 'b=B,n=N');
    assert.equal(fs.readFileSync(at('flat.csv'), 'utf8').split('\n')[0], 'pk,sk,b,n,text');
    const target = await makeTable();
    await works('import', target, '--from', at('flat.csv'), '--types', types);
    await assertSameTables(source, target);
  });

  test('an item that does not fit into CSV is named by its key', async () => {
    const source = await makeTable();
    await fill(source, everyType);
    await fails(/the item \{"pk":\{"S":"all"\},"sk":\{"N":"1"\}\} does not fit/, 'export', source, '--to', at('nested.csv'), '--format', 'csv');
    await fails(/"small".*not among the columns|"all".*not among the columns/, 'export', source, '--to', at('narrow.csv'), '--format', 'csv', '--columns', 'pk');
  });

  test('a directory gets a file of each segment, and is read as a whole', async () => {
    const source = await makeTable();
    await fill(source, many(200));
    await works('export', source, '--to', `${at('parts')}/`, '--segments', '4');
    assert.equal(fs.readdirSync(at('parts')).length, 4);
    const target = `Made${source}`;
    await works('import', target, '--from', at('parts'), '--create', 'pk:S,sk:N');
    await assertSameTables(source, target);
  });

  test('an export of DynamoDB is found in its folder, and a missing file of its manifest is named', async () => {
    const source = await makeTable();
    await fill(source, many(40));
    fs.mkdirSync(at('aws/data'), { recursive: true });
    await works('export', source, '--to', at('aws/data/abc.json.gz'));
    fs.writeFileSync(at('aws/_started'), '');
    fs.writeFileSync(at('aws/manifest-files.json'), '{"itemCount":40,"dataFileS3Key":"x/AWSDynamoDB/1/data/abc.json.gz"}\n');
    const target = await makeTable();
    await works('import', target, '--from', at('aws'));
    await assertSameTables(source, target);
    fs.appendFileSync(at('aws/manifest-files.json'), '{"itemCount":1,"dataFileS3Key":"x/AWSDynamoDB/1/data/def.json.gz"}\n');
    await fails(/def\.json\.gz, which is not there/, 'import', target, '--from', at('aws'));
  });

  test('Ion is read', async () => {
    fs.writeFileSync(at('x.ion'), '$ion_1_0 {Item:{pk:"a",sk:1.,l:[true,null]}}\n');
    const target = await makeTable();
    await works('import', target, '--from', at('x.ion'));
    assert.deepEqual(await itemsOf(target), ['{"l":{"L":[{"BOOL":true},{"NULL":true}]},"pk":{"S":"a"},"sk":{"N":"1"}}']);
  });

  for (const to of ['cut.json', 'cut.json.gz']) {
    test(`an export to ${to} that is killed with kill -9 goes on`, async () => {
      const source = await makeTable();
      await fill(source, many(4000, 2500));
      const words = ['export', source, '--to', at(to), '--segments', '2', '--quiet'];
      for (const kills of [1, 2, 3]) {
        let scans = 0;
        let child;
        // One page later than the last time; the next page is never answered.
        proxy.hook = (operation) => {
          if (operation !== 'Scan' || ++scans <= kills) return undefined;
          if (fs.existsSync(`${at(to)}.progress`)) child.kill('SIGKILL');
          return 'hang';
        };
        child = start(...words);
        assert.equal((await child.ended).signal, 'SIGKILL');
      }
      // A crash may leave bytes behind the counted ones.
      fs.appendFileSync(at(to), 'half a line');
      proxy.hook = () => undefined;
      const { stdout } = await works(...words);
      assert.match(stdout, /^4,000 items/);
      const target = await makeTable();
      await works('import', target, '--from', at(to));
      await assertSameTables(source, target);
    });
  }

  test('SIGINT ends an export cleanly and says how to go on', async () => {
    const source = await makeTable();
    await fill(source, many(4000));
    let child;
    let scans = 0;
    proxy.hook = (operation) => {
      if (operation === 'Scan' && ++scans === 2) child.kill('SIGINT');
    };
    const words = ['export', source, '--to', at('int.json'), '--segments', '1'];
    child = start(...words);
    const ended = await child.ended;
    assert.equal(ended.code, 130, ended.stderr);
    assert.match(ended.stderr, /Give the same command again/);
    proxy.hook = () => undefined;
    await fails(/is not finished/, ...words, '--format', 'json-lines');
    assert.match((await works(...words)).stdout, /^4,000 items/);
    assert.equal(fs.readFileSync(at('int.json'), 'utf8').split('\n').length, 4001);
    await fails(/is there already/, ...words);
  });

  test('an import that is killed with kill -9 goes on', async () => {
    const source = await makeTable();
    await fill(source, many(3000));
    await works('export', source, '--to', at('in.json.gz'));
    const target = await makeTable();
    const words = ['import', target, '--from', at('in.json.gz'), '--connections', '3', '--quiet'];
    for (const after of [5, 30, 60]) {
      let batches = 0;
      let child;
      proxy.hook = (operation) => {
        if (operation !== 'BatchWriteItem' || ++batches <= after) return undefined;
        child.kill('SIGKILL');
        return 'hang';
      };
      child = start(...words);
      assert.equal((await child.ended).signal, 'SIGKILL');
      assert.ok(fs.existsSync(`${at('in.json.gz')}.import-progress`));
    }
    proxy.hook = () => undefined;
    assert.match((await works(...words)).stdout, /^3,000 items/);
    await assertSameTables(source, target);
    assert.ok(!fs.existsSync(`${at('in.json.gz')}.import-progress`));
  });

  test('an import that was interrupted does not put again what is recorded', async () => {
    const source = await makeTable();
    await fill(source, many(1000));
    await works('export', source, '--to', at('again.json'));
    const target = await makeTable();
    const words = ['import', target, '--from', at('again.json'), '--connections', '1'];
    let child;
    let batches = 0;
    proxy.hook = (operation) => {
      if (operation === 'BatchWriteItem' && ++batches === 20) child.kill('SIGINT');
    };
    child = start(...words);
    assert.equal((await child.ended).code, 130);
    const first = batches;
    batches = 0;
    proxy.hook = (operation) => { if (operation === 'BatchWriteItem') ++batches; };
    await works(...words);
    proxy.hook = () => undefined;
    assert.equal(first + batches, 40);
    await assertSameTables(source, target);
  });

  test('throttling, lost answers and unprocessed items are repeated', async () => {
    const source = await makeTable();
    await fill(source, many(300));
    await works('export', source, '--to', at('busy.json'));
    const target = await makeTable();
    let calls = 0;
    proxy.hook = (operation, body) => {
      if (operation !== 'BatchWriteItem') return undefined;
      switch (++calls) {
        case 1: return refusal('ProvisionedThroughputExceededException', 'slow down');
        case 2: return refusal('InternalServerError', 'again', 500);
        case 3: throw new Error('the connection is lost');
        case 4: return { status: 200, body: JSON.stringify({ UnprocessedItems: JSON.parse(body).RequestItems }) };
        // Under another name, as for a request that named the table by its ARN.
        case 5: return { status: 200, body: JSON.stringify({ UnprocessedItems: { another: Object.values(JSON.parse(body).RequestItems)[0] } }) };
        default: return undefined;
      }
    };
    await works('import', target, '--from', at('busy.json'));
    proxy.hook = () => undefined;
    assert.ok(calls > 4);
    await assertSameTables(source, target);
    // And a server that stays busy is given up.
    proxy.hook = (operation) => (operation === 'Scan' ? refusal('ThrottlingException', 'never') : undefined);
    await fails(/Scan: ThrottlingException: never[^]*same command again/, 'export', source, '--to', at('never.json'), '--patience', '1');
    proxy.hook = () => undefined;
  });

  test('bad items are counted and logged, the others are put', async () => {
    const target = await makeTable();
    fs.writeFileSync(at('bad.jsonl'), [
      '{"pk":"a","sk":1}', '{"pk":"b"}', '{"pk":3,"sk":1}', `{"pk":"big","sk":1,"x":"${'y'.repeat(410000)}"}`, '{"pk":"c","sk":1e-3}', '{"pk":"","sk":1}',
    ].join('\n'));
    const ended = await fails(/4 items were refused, the first: .*bad\.jsonl: item 1: .*Missing the key sk/, 'import', target, '--from', at('bad.jsonl'));
    assert.match(ended.stdout, /^2 items/);
    const log = fs.readFileSync(`${at('bad.jsonl')}.errors`, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(log.map(({ itemIndex }) => itemIndex).sort(), [1, 2, 3, 5]);
    assert.equal(log[0].file, at('bad.jsonl'));
    assert.deepEqual(await itemsOf(target), ['{"pk":{"S":"a"},"sk":{"N":"1"}}', '{"pk":{"S":"c"},"sk":{"N":"0.001"}}']);
  });

  test('a damaged file is named, and what stands before the damage is put', async () => {
    const source = await makeTable();
    await fill(source, many(100));
    await works('export', source, '--to', at('whole.json.gz'));
    const whole = fs.readFileSync(at('whole.json.gz'));
    fs.writeFileSync(at('short.json.gz'), whole.subarray(0, whole.length - 20));
    const flipped = Buffer.from(whole);
    flipped[flipped.length - 6] ^= 1;  // of the checksum
    fs.writeFileSync(at('flipped.json.gz'), flipped);
    fs.writeFileSync(at('text.jsonl'), '{"pk":"a","sk":1}\n{"pk":"b","sk":');
    const target = await makeTable();
    await fails(/short\.json\.gz: item/, 'import', target, '--from', at('short.json.gz'));
    await fails(/flipped\.json\.gz: item/, 'import', target, '--from', at('flipped.json.gz'));
    await fails(/text\.jsonl: item 1: The text ends inside a JSON object/, 'import', target, '--from', at('text.jsonl'));
  });

  test('a file that was changed in between is refused', async () => {
    const target = await makeTable();
    fs.writeFileSync(at('changing.jsonl'), many(200, 10).map((_, i) => `{"pk":"a","sk":${i}}`).join('\n'));
    let child;
    proxy.hook = (operation) => {
      if (operation !== 'BatchWriteItem') return undefined;
      child.kill('SIGKILL');
      return 'hang';
    };
    child = start('import', target, '--from', at('changing.jsonl'));
    await child.ended;
    proxy.hook = () => undefined;
    fs.appendFileSync(at('changing.jsonl'), '\n{"pk":"a","sk":1000}');
    await fails(/changing\.jsonl\.import-progress: .*before it was changed/, 'import', target, '--from', at('changing.jsonl'));
  });

  test('masks: nothing of what they hide is on disk, equal values stay equal, and an export under them goes on', async () => {
    const source = await makeTable();
    await fill(source, many(3000));
    fs.writeFileSync(at('mask.key'), 'a secret of sixteen bytes or more\n');
    fs.writeFileSync(at('mask.toml'), `secret-file = "mask.key"
[[mask]]
path = "pk"
do = "hash"
[[mask]]
path = "mail"
do = "fake"
as = "email"
[[mask]]
path = "pad"
do = "drop"
`);
    const words = ['export', source, '--to', at('masked.json'), '--mask', at('mask.toml'), '--segments', '1', '--quiet'];
    let scans = 0;
    let child;
    proxy.hook = (operation) => {
      if (operation !== 'Scan' || ++scans <= 1) return undefined;
      child.kill('SIGKILL');
      return 'hang';
    };
    child = start(...words);
    await child.ended;
    const progress = fs.readFileSync(`${at('masked.json')}.progress`, 'utf8');
    assert.match(progress, /"sealed"/);
    assert.doesNotMatch(progress, /item \d/);
    proxy.hook = () => undefined;
    await works(...words);
    const text = fs.readFileSync(at('masked.json'), 'utf8');
    assert.doesNotMatch(text, /item \d|home\.example|xxx/);
    const lines = text.trim().split('\n').map((line) => JSON.parse(line).Item);
    assert.equal(new Set(lines.map(({ pk }) => pk.S)).size, 3000);
    // Masks of an import make the same values.
    await works('export', source, '--to', at('open.json'));
    const [one, other] = [await makeTable(), await makeTable()];
    await works('import', one, '--from', at('masked.json'));
    await works('import', other, '--from', at('open.json'), '--mask', at('mask.toml'));
    await assertSameTables(one, other);
    // An item that cannot be read is not masked, so its error does not quote it.
    fs.writeFileSync(at('odd.csv'), 'pk,sk,phone\na,1,+49 30 12345\n');
    await fails(/1 items were refused, the first: .*cannot be read/, 'import', one, '--from', at('odd.csv'), '--types', 'phone=N', '--mask', at('mask.toml'));
    assert.ok(!fs.readFileSync(`${at('odd.csv')}.errors`, 'utf8').includes('12345'));
    fs.writeFileSync(at('drop.toml'), '[[mask]]\npath = "pk"\ndo = "drop"\n');
    await fails(/pk is a key attribute/, 'export', source, '--to', at('no.json'), '--mask', at('drop.toml'));
  });

  test('a table that is not there, and an endpoint that is not, are named', async () => {
    await fails(/has no table Nowhere/, 'export', 'Nowhere', '--to', at('n.json'));
    await fails(/has no table Nowhere; --create makes it/, 'import', 'Nowhere', '--from', at('line.json.gz'));
    const child = spawn(binary, ['export', 'T', '--to', at('n.json'), '--patience', '1', '--endpoint-url', 'http://127.0.0.1:1'], { env: environment });
    let stderr = '';
    child.stderr.on('data', (chunk) => { stderr += chunk; });
    assert.deepEqual(await once(child, 'close'), [1, null]);
    assert.match(stderr, /http:\/\/127\.0\.0\.1:1 gave no answer/);
  });
});
