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
const kCause = `Hot key "${kDay}": 3,000 of 1,000 write units/s, on 1 of 5 partitions`;
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
  } finally {
    await server.stop();
    log = server.output; // all of it
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
  // From the middle of a minute: its seconds are of one column of the last hours.
  const server = await Server.start({ args: [...manual, '--clock-start=2026-11-27T10:00:20Z', '--throttling=enforce', '--record', recording] });
  let refused, told, tickets;
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
    [tickets, { refused: [told] }] = (await request(server.endpoint, { method: 'GET', path: '/_stator/tables/events/partitions',
      headers: { 'X-Stator-Management': 'true' } })).json().resources;
  } finally {
    await server.stop();
  }
  const cause = 'Index by-desk: hot key "returns": 1,750 of 1,000 write units/s, on 1 of 5 partitions';
  assert.equal(refused.length, 75);
  // All of them tell the cost of the projection, too.
  const entry = /costs about 10 units, of at most 1 KB it costs 1, and this key then takes 175 \(lesson slim-index\)/;
  assert.match(refused.at(-1).json().message, entry);
  assert.match(told.why, entry);
  assert.ok(refused.at(-1).json().message.startsWith(`${cause}. `), refused.at(-1).text);
  assert.match(refused.at(-1).json().message, /Lesson: slim-index\.$/, 'the lesson of the first cure');
  // The log waits for the second's end, or the server's.
  const lines = server.output.split('\n').filter((line) => line.includes(' throttled ') && !line.includes('(so far)'));
  assert.ok(lines.length > 0, server.output);
  for (const line of lines) assert.ok(line.includes(cause.replaceAll('"', '\\"')), line);
  // Each ticket is written once: the sketch knows of no hot one.
  assert.deepEqual(tickets.hottest, []);
  assert.deepEqual(tickets.partitions.flatMap(({ hottest }) => hottest), []);
  // 175 tickets of 10 units a second are stored, since the table was created.
  const stored = tickets.lastHours.consumed.write;
  assert.equal(Math.max(...stored), Math.round(1750 * 100) / 100, stored.join(' '));
  assert.deepEqual([told.demand, told.limit, told.key], [1750, 1000, 'returns']);
  const advice = spawnSync(binary, ['advise', '--json', recording], { encoding: 'utf8' });
  assert.equal(advice.status, 0, advice.stderr);
  const [{ findings, resources }] = JSON.parse(advice.stdout).tables;
  // Three seconds: 1,750 served of 2,500, as the other tellers have it, and no more keys than requests.
  for (const { name, average, busiest_minute, busiest_second, writes } of resources) {
    assert.deepEqual([average.write, busiest_minute.write, busiest_second.write], [1750, 2500, 2500], name);
    assert.deepEqual([writes.requests, writes.refused], [525, 225], name);
    assert.ok(writes.distinct_keys <= 750, `${name}: ${writes.distinct_keys}`);
  }
  const hot = findings.find(({ id, index }) => id === 'hot-key' && index === 'by-desk');
  assert.match(hot.text, entry);
  assert.ok(hot.text.startsWith('Key "returns" takes 1,750 write units in its busiest second'), hot.text);
  const model = findings.find(({ id }) => id === 'model-throttles');
  assert.ok(model.text.includes(cause), model.text);
});

// `count` calls in each second of the manual clock; the replies of the last one.
async function callSeconds(server, seconds, count, operation, bodyOf) {
  let replies;
  for (let second = 0; second < seconds; second++) {
    replies = [];
    for (let n = 0; n < count; n += 50) {
      replies.push(...await Promise.all(Array.from({ length: Math.min(50, count - n) }, (_, i) => call(server.endpoint, operation, bodyOf(second * count + n + i)))));
    }
    await advanceClock(server, 1);
  }
  return replies;
}
const manage = async (server, path, headers = {}) => (await request(server.endpoint, { method: 'GET', path: `/_stator/tables/${path}`,
  headers: { 'X-Stator-Management': 'true', ...headers } }));
const messageOf = (replies) => replies.filter(({ status }) => status !== 200).at(-1).json().message.split(' DynamoDB says:')[0];
// The findings of a recording, and below it the refusals of a scenario.
function findingsOf(recording) {
  const advice = spawnSync(binary, ['advise', '--json', recording], { encoding: 'utf8' });
  assert.equal(advice.status, 0, advice.stderr);
  return JSON.parse(advice.stdout).tables[0].findings;
}
function troublesOf(name, text) {
  const scenario = path.join(kScratch, `${name}.toml`);
  fs.writeFileSync(scenario, text);
  const simulated = spawnSync(binary, ['simulate', '--out', kScratch, scenario], { encoding: 'utf8' });
  assert.equal(simulated.status, 0, simulated.stderr);
  return JSON.parse(fs.readFileSync(path.join(kScratch, `${name}.json`), 'utf8')).resources.flatMap(({ throttled }) => throttled);
}
// That `text` has these pieces in this order.
function inOrder(text, pieces, who) {
  let at = 0;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    assert.ok(found >= 0, `${who}: "${piece}" is not there, or not in this order: ${text}`);
    at = found + piece.length;
  }
}

test('S56: a hot key of an index with a fat projection is told alike by all, cheapest cure first, and after the index is gone', async () => {
  const recording = path.join(kScratch, 'sensors.log');
  const server = await Server.start({ args: [...manual, '--throttling=enforce', '--record', recording] });
  const kPlants = ['west', 'north', 'south', 'dock'];
  let message, log, told, picture;
  try {
    const ProvisionedThroughput = { ReadCapacityUnits: 100, WriteCapacityUnits: 6000 };
    const created = await call(server.endpoint, 'CreateTable', {
      TableName: 'readings', AttributeDefinitions: ['reading', 'plant', 'time'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: [{ AttributeName: 'reading', KeyType: 'HASH' }], ProvisionedThroughput,
      GlobalSecondaryIndexes: [{ IndexName: 'by-plant', KeySchema: [{ AttributeName: 'plant', KeyType: 'HASH' }, { AttributeName: 'time', KeyType: 'RANGE' }],
        Projection: { ProjectionType: 'ALL' }, ProvisionedThroughput }],
    });
    assert.equal(created.status, 200, created.text);
    const pad = { S: 'x'.repeat(5 * 1024 - 200) };
    const replies = await callSeconds(server, 13, 400, 'PutItem', (n) => ({ TableName: 'readings', Item: {
      reading: { S: `reading-${n}` }, plant: { S: n % 5 < 4 ? 'mill' : kPlants[Math.floor(n / 5) % 4] }, time: { S: String(n).padStart(9, '0') }, pad } }));
    assert.equal(replies.filter(({ status }) => status !== 200).length, 120, '1,600 units of "mill" in a second, of which 1,000 are served');
    message = messageOf(replies);
    told = (await manage(server, 'readings/partitions')).json().resources[1].refused[0];
    picture = (await manage(server, 'readings/heat.svg?index=by-plant', { Accept: 'image/svg+xml' })).text;
    const gone = await call(server.endpoint, 'UpdateTable', { TableName: 'readings', GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: 'by-plant' } }] });
    assert.equal(gone.status, 200, gone.text);
    await callSeconds(server, 5, 50, 'PutItem', (n) => ({ TableName: 'readings', Item: { reading: { S: `later-${n}` } } }));
  } finally {
    await server.stop();
    log = server.output; // all of it
  }
  const cause = 'Index by-plant: hot key "mill": 1,600 of 1,000 write units/s, on 1 of 7 partitions';
  const suffixes = Number(/over (\d+) suffixes/.exec(told.advice.join(' '))?.[1]);
  assert.ok(suffixes > 1, told.advice.join('\n'));
  const order = ['More units alone do not help: one partition serves at most 1,000 write units/s.',
    'Project less: an entry of the index costs about 5 units, of at most 1 KB it costs 1, and this key then takes 320 (lesson slim-index).',
    'The index has only 5 keys: give it another partition key', `Or spread this one over ${suffixes} suffixes, "mill.1" to "mill.${suffixes}"`];
  assert.equal(message, told.why, 'exception and /partitions');
  // The first cure, which is enough; all of them are a list.
  inOrder(told.why, [`${cause}. `, ...order.slice(0, 2)], '/partitions');
  assert.ok(!told.why.includes('The index has only'), told.why);
  assert.equal(told.advice.length, 3, told.advice.join('\n'));
  for (const [i, cure] of told.advice.entries()) assert.ok(cure.startsWith(order[i + 1]), cure);
  assert.deepEqual([told.demand, told.limit, told.key], [1600, 1000, 'mill']);
  const splits = 'Splits do not help: the sort keys of this key only rise, so that all of its new items lie in the last part.';
  assert.ok(told.notes.includes(splits), told.notes.join('\n'));
  assert.ok(!told.advice.includes(splits), 'it cures nothing');
  assert.equal(told.lesson, 'slim-index');
  inOrder(log, ['throttled', 'More units alone do not help', 'Project less'], 'log');
  assert.ok(picture.includes('>mill</text>'), 'heat names the key');

  const findings = findingsOf(recording);
  const hot = findings.find(({ id, index }) => id === 'hot-key' && index === 'by-plant');
  inOrder(hot.text, ['Key "mill" takes 1,600 write units in its busiest second', ...order], 'advise, hot-key');
  inOrder(findings.find(({ id }) => id === 'model-throttles').text, [cause, ...order], 'advise, model-throttles');

  for (const seed of [1, 2, 3]) {
    const troubles = troublesOf('readings', `duration = "13s"\nseed = ${seed}\n[[table]]\nname = "readings"\nread = 100\nwrite = 6000\n` +
      '[[table.index]]\nname = "by-plant"\nread = 100\nwrite = 6000\nentry_bytes = "5KB"\nkeys = { type = "weighted", ' +
      'weights = { mill = 80, west = 5, north = 5, south = 5, dock = 5 }, sort = "increasing" }\n' +
      '[[traffic]]\ntable = "readings"\noperation = "write"\nitem_bytes = "5KB"\nrate = 400\nkeys = { type = "uniform", count = 1000000 }\n');
    assert.equal(troubles.length, 1);
    assert.equal(troubles[0].cause, cause);
    inOrder([troubles[0].no_help, ...troubles[0].advice, ...troubles[0].notes].join(' '), [...order, splits], `simulate, seed ${seed}`);
  }
});

test('S57: a hot item that is read strongly is told alike by all: eventual reads and a cache before copies', async () => {
  const recording = path.join(kScratch, 'pages.log');
  const server = await Server.start({ args: [...manual, '--throttling=enforce', '--record', recording] });
  let message, told;
  try {
    const created = await call(server.endpoint, 'CreateTable', { TableName: 'pages', AttributeDefinitions: [{ AttributeName: 'page', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'page', KeyType: 'HASH' }], ProvisionedThroughput: { ReadCapacityUnits: 9000, WriteCapacityUnits: 100 } });
    assert.equal(created.status, 200, created.text);
    const put = await call(server.endpoint, 'PutItem', { TableName: 'pages', Item: { page: { S: 'home' }, body: { S: 'x'.repeat(100 * 1024 - 50) } } });
    assert.equal(put.status, 200, put.text);
    await advanceClock(server, 10);
    const replies = await callSeconds(server, 4, 200, 'GetItem', () => ({ TableName: 'pages', Key: { page: { S: 'home' } }, ConsistentRead: true }));
    assert.equal(replies.filter(({ status }) => status !== 200).length, 80, '5,000 units in a second, of which 3,000 are served');
    message = messageOf(replies);
    told = (await manage(server, 'pages/partitions')).json().resources[0].refused[0];
  } finally {
    await server.stop();
  }
  const cause = /^Hot key "home": 5,000 of 3,000 read units\/s, on 1 of \d partitions\. /.exec(told.why)?.[0];
  assert.ok(cause, told.why);
  assert.equal(message, told.why);
  const copies = told.advice.map((text) => /keep (\d+) copies/.exec(text)?.[1]).find((n) => n !== undefined);
  const order = ['More units alone do not help: one partition serves at most 3,000 read units/s.',
    'Read it eventually consistent: a strongly consistent read costs twice as much, and this key then takes 2,500. Or cache what is hot.'];
  inOrder(told.why, order, '/partitions');
  inOrder(told.advice.join(' '), [order[1], `If that is not enough, keep ${copies} copies, "home.1" to "home.${copies}", and read any`], 'advice');
  const whole = [...order, `If that is not enough, keep ${copies} copies`];
  const findings = findingsOf(recording);
  inOrder(findings.find(({ id }) => id === 'hot-key').text, ['Key "home" takes 5,000 read units in its busiest second', ...whole], 'hot-key');
  inOrder(findings.find(({ id }) => id === 'model-throttles').text, [cause.slice(0, -2), ...whole], 'model-throttles');
  const [trouble] = troublesOf('pages', 'duration = "1m"\n[[table]]\nname = "pages"\nread = 9000\nwrite = 100\n[[traffic]]\ntable = "pages"\n' +
    'operation = "read"\nconsistency = "strong"\nitem_bytes = "100KB"\nrate = 200\nkeys = { type = "single", key = "home" }\n');
  assert.equal(`${trouble.cause}. `, cause);
  inOrder([trouble.no_help, ...trouble.advice].join(' '), whole, 'simulate');
});

test('S58: a burst of deletes is told alike by all', async () => {
  const recording = path.join(kScratch, 'sessions.log');
  const server = await Server.start({ args: [...manual, '--throttling=enforce', '--record', recording] });
  let message, told;
  try {
    const created = await call(server.endpoint, 'CreateTable', { TableName: 'sessions', AttributeDefinitions: [{ AttributeName: 'session', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'session', KeyType: 'HASH' }], ProvisionedThroughput: { ReadCapacityUnits: 10, WriteCapacityUnits: 300 } });
    assert.equal(created.status, 200, created.text);
    const pad = { S: 'x'.repeat(2 * 1024 - 100) };
    const put = await callSeconds(server, 5, 100, 'PutItem', (n) => ({ TableName: 'sessions', Item: { session: { S: `session-${n}` }, pad } }));
    assert.ok(put.every(({ status }) => status === 200));
    const replies = await callSeconds(server, 1, 500, 'DeleteItem', (n) => ({ TableName: 'sessions', Key: { session: { S: `session-${n}` } } }));
    assert.ok(replies.some(({ status }) => status !== 200));
    message = messageOf(replies);
    told = (await manage(server, 'sessions/partitions')).json().resources[0].refused[0];
  } finally {
    await server.stop();
  }
  assert.equal(told.reason, 'TableWriteProvisionedThroughputExceeded');
  assert.match(told.why, /^Table sessions: [\d,]+ of 300 provisioned write units\/s\. Raise the write capacity of the table to [\d,]+ units or more/);
  assert.doesNotMatch(told.why, /suffix|do not help/);
  assert.equal(message.replace(/[\d,]+ (\(so far\) )?(of|units)/g, '$2'), told.why.replace(/[\d,]+ (of|units)/g, '$1'), 'of the second that goes on');
  const findings = findingsOf(recording);
  assert.ok(findings.some(({ id }) => id === 'delete-churn'), findings.map(({ id }) => id).join(' '));
  assert.ok(findings.find(({ id }) => id === 'model-throttles').text.includes(told.why.split('. ')[0]), told.why);
});

test('S54: while a storm lasts every refusal tells the same, and before its first second has ended no number of suffixes', async () => {
  const server = await Server.start({ args: [...manual, '--throttling=enforce'] });
  try {
    await createEvents(server);
    const texts = (replies) => new Set(replies.filter(({ status }) => status !== 200).map((reply) => reply.json().message.split(' DynamoDB says:')[0]));
    for (const text of texts(await writeSeconds(server, 1))) {
      assert.ok(text.endsWith('Spread it over suffixes, random or computed: how many, the log tells once this second has ended.'), text);
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
