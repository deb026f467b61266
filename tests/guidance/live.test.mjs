// One event told by everything that tells of it: the exception, the log, /partitions (with `enforce` and with `observe`),
// `stator advise` of its recording and `stator simulate` of the same load. The statements are those of README.md.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

import { advanceClock, binary, call, request, Server } from '../sdk/harness.mjs';

const kDay = '2014-07-09';
const kCause = `Hot key "${kDay}": 3,000 of 1,000 writes/s, on 1 of 5 partitions`;
const kScratch = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-guidance-'));
after(() => fs.rmSync(kScratch, { recursive: true, force: true }));

async function createEvents(server) {
  const created = await call(server.endpoint, 'CreateTable', {
    TableName: 'events', AttributeDefinitions: [{ AttributeName: 'day', AttributeType: 'S' }, { AttributeName: 'event', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'day', KeyType: 'HASH' }, { AttributeName: 'event', KeyType: 'RANGE' }],
    ProvisionedThroughput: { ReadCapacityUnits: 100, WriteCapacityUnits: 4000 },
  });
  assert.equal(created.status, 200, created.text);
}

// 300 writes of 10 units in each second; the answers of the last one.
async function writeSeconds(server, seconds, keyOf = () => kDay) {
  const pad = { S: 'x'.repeat(10 * 1024 - 100) };
  let replies;
  for (let second = 0; second < seconds; second++) {
    replies = [];
    for (let n = 0; n < 300; n += 50) {
      replies.push(...await Promise.all(Array.from({ length: 50 }, (_, i) => call(server.endpoint, 'PutItem', {
        TableName: 'events', Item: { day: { S: keyOf(second * 300 + n + i) }, event: { S: String(second * 300 + n + i).padStart(9, '0') }, pad } }))));
    }
    await advanceClock(server, 1);
  }
  return replies;
}

const partitions = async (server) => (await request(server.endpoint, {
  method: 'GET', path: '/_stator/tables/events/partitions', headers: { 'X-Stator-Management': 'true' } })).json().resources[0];
const suffixesOf = (text) => Number(/over (\d+) suffixes/.exec(text)?.[1]);
const manual = ['--in-memory', '--clock=manual'];

test('S51: exception, log, partitions, observe, advise and simulate tell one demand and one number of suffixes', async () => {
  const recording = path.join(kScratch, 'requests.log');
  const server = await Server.start({ args: [...manual, '--throttling=enforce', '--record', recording] });
  let message, log, told;
  try {
    await createEvents(server);
    const replies = await writeSeconds(server, 13); // the log has a line every ten seconds
    const refused = replies.filter(({ status }) => status !== 200);
    assert.equal(refused.length, 200);
    message = refused.at(-1).json().message;
    told = (await partitions(server)).refused[0];
    assert.equal((await partitions(server)).refused.length, 1);
    await advanceClock(server, '1h');
    assert.equal((await partitions(server)).refused[0].why, told.why, 'an hour later it is still known');
    log = server.output;
  } finally {
    await server.stop();
  }
  assert.ok(message.startsWith(`${kCause}. `), message);
  const suffixes = suffixesOf(message);
  assert.ok(suffixes > 3, message);
  assert.ok(message.includes(`"${kDay}.1" to "${kDay}.${suffixes}"`), message);
  assert.match(message, /UpdateTable API\. Lesson: hot-date\.$/);
  assert.ok(told.why.startsWith(`${kCause}. `), told.why);
  assert.equal(suffixesOf(told.why), suffixes);
  assert.deepEqual([told.demand, told.limit, told.key, told.lesson], [3000, 1000, kDay, 'hot-date']);
  assert.ok(log.includes('throttled'), log);

  const observing = await Server.start({ args: [...manual, '--throttling=observe'] });
  try {
    await createEvents(observing);
    const replies = await writeSeconds(observing, 2);
    assert.ok(replies.every(({ status }) => status === 200));
    assert.equal((await partitions(observing)).refused[0].why, told.why);
  } finally {
    await observing.stop();
  }

  const advice = spawnSync(binary, ['advise', '--json', recording], { encoding: 'utf8' });
  assert.equal(advice.status, 0, advice.stderr);
  const findings = JSON.parse(advice.stdout).tables[0].findings;
  const model = findings.find(({ id }) => id === 'model-throttles');
  assert.ok(model.text.includes(kCause), model.text);
  assert.equal(suffixesOf(model.text), suffixes);
  const moving = findings.find(({ id }) => id === 'moving-key');
  assert.equal(suffixesOf(moving.text), suffixes, moving.text);

  const scenario = path.join(kScratch, 'events.toml');
  fs.writeFileSync(scenario, `duration = "5m"\n[[table]]\nname = "events"\nread = 100\nwrite = 4000\n[[traffic]]\ntable = "events"\n` +
    `operation = "write"\nitem_bytes = "1KB"\nrate = 3000\nkeys = { type = "single", key = "${kDay}", sort = "increasing" }\n`);
  const simulated = spawnSync(binary, ['simulate', '--no-files', scenario], { encoding: 'utf8' });
  assert.equal(simulated.status, 0, simulated.stderr);
  assert.ok(simulated.stdout.includes(kCause), simulated.stdout);
  assert.equal(suffixesOf(simulated.stdout), suffixes);
});

test('S52: the advised suffixes cure the table that they were advised for', async () => {
  const server = await Server.start({ args: [...manual, '--throttling=enforce'] });
  try {
    await createEvents(server);
    const hot = await writeSeconds(server, 2);
    const suffixes = suffixesOf(hot.filter(({ status }) => status !== 200).at(-1).json().message);
    await advanceClock(server, 10);
    const spread = await writeSeconds(server, 5, (n) => `${kDay}.${n % suffixes + 1}`);
    assert.deepEqual(spread.filter(({ status }) => status !== 200).map(({ text }) => text), []);
    const [range] = (await partitions(server)).refused;
    assert.equal(range.requests, 400, 'nothing was refused since');
  } finally {
    await server.stop();
  }
});

// A table of events with an index by desk, which projects all.
async function createDesks(server) {
  const ProvisionedThroughput = { ReadCapacityUnits: 100, WriteCapacityUnits: 4000 };
  const created = await call(server.endpoint, 'CreateTable', {
    TableName: 'events', AttributeDefinitions: [{ AttributeName: 'event', AttributeType: 'S' }, { AttributeName: 'desk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'event', KeyType: 'HASH' }], ProvisionedThroughput,
    GlobalSecondaryIndexes: [{ IndexName: 'by-desk', KeySchema: [{ AttributeName: 'desk', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' }, ProvisionedThroughput }],
  });
  assert.equal(created.status, 200, created.text);
}

test('S53: of a hot key of an index, exception, partitions and advise tell one demand', async () => {
  const recording = path.join(kScratch, 'index.log');
  const server = await Server.start({ args: [...manual, '--throttling=enforce', '--record', recording] });
  let refused, told;
  try {
    await createDesks(server);
    const pad = { S: 'x'.repeat(10 * 1024 - 200) };
    for (let second = 0; second < 3; second++) {
      const replies = [];
      for (let n = 0; n < 250; n += 50) {
        replies.push(...await Promise.all(Array.from({ length: 50 }, (_, i) => call(server.endpoint, 'PutItem', {
          TableName: 'events', Item: { event: { S: `event-${second * 250 + n + i}` }, desk: { S: (n + i) % 10 < 7 ? 'returns' : 'press' }, pad } }))));
      }
      refused = replies.filter(({ status }) => status !== 200);
      await advanceClock(server, 1);
    }
    told = (await request(server.endpoint, { method: 'GET', path: '/_stator/tables/events/partitions',
      headers: { 'X-Stator-Management': 'true' } })).json().resources[1].refused[0];
  } finally {
    await server.stop();
  }
  const cause = 'Index by-desk: hot key "returns": 1,750 of 1,000 writes/s, on 1 of 5 partitions';
  assert.equal(refused.length, 75);
  // All of them tell the cost of the projection, too.
  const entry = /costs (?:about )?10 units.*of at most 1 KB it costs 1, and this key then takes 175 \(lesson slim-index\)/;
  assert.match(refused.at(-1).json().message, entry);
  assert.match(told.why, entry);
  assert.ok(refused.at(-1).json().message.startsWith(`${cause}. `), refused.at(-1).text);
  assert.deepEqual([told.demand, told.limit, told.key], [1750, 1000, 'returns']);
  const advice = spawnSync(binary, ['advise', '--json', recording], { encoding: 'utf8' });
  assert.equal(advice.status, 0, advice.stderr);
  const findings = JSON.parse(advice.stdout).tables[0].findings;
  const hot = findings.find(({ id, index }) => id === 'hot-key' && index === 'by-desk');
  assert.match(hot.text, entry);
  assert.ok(hot.text.startsWith('Key "returns" takes 1,750 write units in its busiest second'), hot.text);
  const model = findings.find(({ id }) => id === 'model-throttles');
  assert.ok(model.text.includes(cause), model.text);
});

test('S54: while a storm lasts every refusal tells the same, and before its first second has ended no number of suffixes', async () => {
  const server = await Server.start({ args: [...manual, '--throttling=enforce'] });
  try {
    await createEvents(server);
    const texts = (replies) => new Set(replies.filter(({ status }) => status !== 200).map((reply) => reply.json().message.split(' DynamoDB says:')[0]));
    for (const text of texts(await writeSeconds(server, 1))) {
      assert.ok(text.endsWith('Spread it over suffixes, random or computed: how many is told once this second has ended.'), text);
    }
    const later = [];
    for (let second = 0; second < 3; second++) later.push(...texts(await writeSeconds(server, 1)));
    assert.equal(new Set(later).size, 1, later.join('\n'));
    assert.ok(later[0].startsWith(`${kCause}. `), later[0]);
    assert.equal((await partitions(server)).refused[0].why, later[0]);
  } finally {
    await server.stop();
  }
});

test('S55: the cost of a month counts refused units, and a load of seconds is not spread over a minute', async () => {
  const server = await Server.start({ args: [...manual, '--throttling=enforce'] });
  try {
    const created = await call(server.endpoint, 'CreateTable', {
      TableName: 'events', AttributeDefinitions: [{ AttributeName: 'day', AttributeType: 'S' }, { AttributeName: 'event', AttributeType: 'S' }, { AttributeName: 'desk', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'event', KeyType: 'HASH' }], ProvisionedThroughput: { ReadCapacityUnits: 100, WriteCapacityUnits: 4000 },
      GlobalSecondaryIndexes: ['desk', 'day'].map((key) => ({ IndexName: `by-${key}`, KeySchema: [{ AttributeName: key, KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
        ProvisionedThroughput: { ReadCapacityUnits: 100, WriteCapacityUnits: 4000 } })),
    });
    assert.equal(created.status, 200, created.text);
    const pad = { S: 'x'.repeat(10 * 1024 - 200) };
    let refused = 0;
    for (let second = 0; second < 10; second++) {
      for (let n = 0; n < 250; n += 50) {
        const replies = await Promise.all(Array.from({ length: 50 }, (_, i) => call(server.endpoint, 'PutItem', {
          TableName: 'events', Item: { event: { S: `event-${second * 250 + n + i}` }, day: { S: `day-${i}` }, desk: { S: 'returns' }, pad } })));
        refused += replies.filter(({ status }) => status !== 200).length;
      }
      await advanceClock(server, 1);
    }
    assert.equal(refused, 10 * 150, 'the index serves 1,000 of 2,500 units');
    const cost = (await request(server.endpoint, { method: 'GET', path: '/_stator/tables/events/cost', headers: { 'X-Stator-Management': 'true' } })).json();
    for (const { name, seconds, average } of cost.resources) {
      assert.ok(Math.abs(seconds - 10) <= 1, `${name}: ${seconds} s`);
      assert.ok(Math.abs(average.write - 2500) <= 300, `${name}: ${average.write} write units a second`);
    }
  } finally {
    await server.stop();
  }
});

test('S93: the picture of a server names the hot key of an index on its band', async () => {
  const server = await Server.start({ args: [...manual, '--throttling=enforce'] });
  try {
    await createDesks(server);
    const pad = { S: 'x'.repeat(10 * 1024 - 200) };
    for (let second = 0; second < 5; second++) {
      for (let n = 0; n < 200; n += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, i) => call(server.endpoint, 'PutItem', {
          TableName: 'events', Item: { event: { S: `event-${second * 200 + n + i}` }, desk: { S: (n + i) % 10 < 7 ? 'returns <&>' : 'press' }, pad } })));
      }
      await advanceClock(server, 1);
    }
    const picture = async (path) => (await request(server.endpoint, { method: 'GET', path: `/_stator/tables/events/${path}`,
      headers: { 'X-Stator-Management': 'true', Accept: 'image/svg+xml' } })).text;
    for (const path of ['heat.svg', 'heat.svg?last=30s&step=1s', 'heat.svg?index=by-desk']) {
      assert.equal((await picture(path)).match(/>returns &lt;&amp;&gt;<\/text>/g)?.length, 1, path);
    }
    assert.ok(!(await picture('heat')).includes('returns'), 'who may see heat may not see keys');
  } finally {
    await server.stop();
  }
});
