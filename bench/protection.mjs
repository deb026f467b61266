// What history and moving data cost, of tables of items of 1 KB.
//
//   node bench/protection.mjs [--only put,data,past] [--items 1000000] [--pairs 9] [--seconds 3] [--under 'nice -n -10'] [--durability fsync|os]
//       [--dir DIR]
//
// put: CPU time of a PutItem on a table with point-in-time recovery beside one with a NEW_AND_OLD_IMAGES stream and a plain one: three
//      servers, loaded by turns, each stopped during the others' turns.
// data: import, backup, restore, restore to a moment, export and import of the export of one large table: CPU time of the server's
//      process, and time to ACTIVE; p99 of GetItem while backups are made, beside without, by turns.
// past: GetItem as of a moment an hour and 100,000 changes back beside a plain one, by turns.
//
// MB are 1,000,000 bytes of items by DynamoDB's rules. The load average stands beside each figure: other work on the machine makes wall
// time worthless and CPU time a little longer. `--under COMMAND` starts server and wrk, `chrt -f 10` for one; then the kernel takes 50 ms of each
// second from both, which p99 shows.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as after } from 'node:timers/promises';
import zlib from 'node:zlib';

import { Server, advanceClock } from '../tests/sdk/harness.mjs';
import { Client, item } from './items.mjs';
import { cpuSeconds, load, run } from './process.mjs';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'put,data,past' }, items: { type: 'string', default: '1000000' }, pairs: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '3' }, under: { type: 'string', default: '' }, durability: { type: 'string', default: 'fsync' },
    dir: { type: 'string', default: process.env.BENCH_DIR ?? os.tmpdir() },
  },
});
const kItems = Number(options.items);
const kPairs = Number(options.pairs);
const kSeconds = Number(options.seconds);
const kHot = 60_000;
const kConnections = 16;
const kCalmConnections = 4; // for latencies: the server has time to spare
const under = options.under.split(' ').filter(Boolean);
const directory = fs.mkdtempSync(path.join(options.dir, 'stator-protection-'));
const servers = [];
const figures = [];

const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
};
function say(name, text) {
  figures.push([name, text]);
  console.log(`${name.padEnd(34)} ${text}  [load ${load()}]`);
}

async function start(name, args = []) {
  const server = await Server.startOne({ dataDir: path.join(directory, name), args: ['--throttling=off', `--durability=${options.durability}`, ...args], under });
  server.client = new Client(server.port, kConnections);
  servers.push(server);
  return server;
}
const protect = (server, TableName) => server.client.call('UpdateContinuousBackups', { TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });

// {cpu: microseconds of a request, rate, p50, p99}
async function measure(server, workload, { items, seconds = kSeconds, seed = 7, asOf, connections = kConnections }) {
  const before = cpuSeconds(server.child.pid);
  const command = [...under, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '20s', '--latency', '-s',
    path.join(import.meta.dirname, 'wrk', 'dynamodb.lua'), `http://127.0.0.1:${server.port}/`, '--', workload, items, seed, ...(asOf ? [asOf] : [])];
  const out = await run(command[0], command.slice(1).map(String));
  const used = cpuSeconds(server.child.pid) - before;
  const result = JSON.parse(/^RESULT (.*)$/m.exec(out)[1]);
  if (result.refused + result.broken > 0) throw new Error(out);
  return { cpu: used / result.requests * 1e6, rate: result.requests / (result.us / 1e6), p50: result.p50 / 1e3, p99: result.p99 / 1e3 };
}
const show = (results, member, digits = 1) => {
  const all = results.map((one) => one[member]);
  return `${median(all).toFixed(digits)} (${Math.min(...all).toFixed(digits)} to ${Math.max(...all).toFixed(digits)})`;
};
// Measures each of the kinds in every round, in the other order in every second one.
async function byTurns(kinds, once) {
  const results = Object.fromEntries(kinds.map((kind) => [kind, []]));
  for (let round = 0; round < kPairs; ++round) {
    for (const kind of round % 2 === 0 ? kinds : [...kinds].reverse()) results[kind].push(await once(kind, round));
  }
  return results;
}

async function put() {
  const kinds = { put: 'bench', putstream: 'bench_stream', putpitr: 'bench_pitr' };
  const own = {};
  for (const [kind, table] of Object.entries(kinds)) {
    const server = await start(kind);
    await server.client.createTable(table, [['pk', 'S']],
      kind === 'putstream' ? { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } } : {});
    if (kind === 'putpitr') await protect(server, table);
    await server.client.fill(table, item, kHot);
    await measure(server, kind, { items: kHot, seconds: 2 });
    own[kind] = server;
    server.child.kill('SIGSTOP');
  }
  const results = await byTurns(Object.keys(kinds), async (kind, round) => {
    own[kind].child.kill('SIGCONT');
    const result = await measure(own[kind], kind, { items: kHot, seed: round + 1 });
    own[kind].child.kill('SIGSTOP');
    return result;
  });
  for (const kind of Object.keys(kinds)) {
    own[kind].child.kill('SIGCONT');
    say(kind, `${show(results[kind], 'cpu', 2)} us of CPU, ${show(results[kind], 'rate', 0)} requests/s`);
  }
  for (const kind of ['put', 'putstream']) {
    // Turns are compared within their round.
    say(`putpitr / ${kind}`, show(results.putpitr.map((one, round) => ({ ratio: one.cpu / results[kind][round].cpu })), 'ratio', 3));
  }
  for (const server of Object.values(own)) await stop(server);
}

async function stop(server) {
  server.client.close();
  await server.stop();
  servers.splice(servers.indexOf(server), 1);
}

// The size of `item` by DynamoDB's rules.
const kItemBytes = 1024;

// Does a job and waits for its end. {seconds, cpu, active: seconds to ACTIVE}
async function job(server, begin, ended) {
  const before = cpuSeconds(server.child.pid);
  const startedAt = performance.now();
  const begun = await begin();
  for (;;) {
    const found = await ended(begun);
    if (found) return { seconds: (performance.now() - startedAt) / 1000, cpu: cpuSeconds(server.child.pid) - before, begun };
    await after(2);
  }
}
const sayJob = (name, { seconds, cpu }, items = kItems) => {
  const megabytes = items * kItemBytes / 1e6;
  say(name, `${(megabytes / cpu).toFixed(0)} MB a second of CPU, ${(megabytes / seconds).toFixed(0)} MB/s by the clock (${cpu.toFixed(2)} s and ${seconds.toFixed(2)} s)`);
};

async function data() {
  const server = await start('data', ['--pitr-lag=1ms']);
  const objects = path.join(directory, 'data-objects', 'bucket');
  fs.mkdirSync(path.join(objects, 'in'), { recursive: true });
  const { client } = server;
  const kFiles = 16;
  for (let file = 0; file < kFiles; ++file) {
    const lines = [];
    for (let i = file; i < kItems; i += kFiles) lines.push(JSON.stringify({ Item: item(i) }));
    fs.writeFileSync(path.join(objects, 'in', `${file}.json.gz`), zlib.gzipSync(`${lines.join('\n')}\n`, { level: 1 }));
  }
  const imported = (TableName, S3KeyPrefix, InputFormat) => job(server, () => client.call('ImportTable', {
    S3BucketSource: { S3Bucket: 'bucket', S3KeyPrefix }, InputFormat, InputCompressionType: 'GZIP',
    TableCreationParameters: {
      TableName, BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    },
  }), async ({ ImportTableDescription: { ImportArn } }) => {
    const { ImportTableDescription: now } = await client.call('DescribeImport', { ImportArn });
    if (now.ImportStatus === 'FAILED') throw new Error(JSON.stringify(now));
    return now.ImportStatus === 'COMPLETED';
  });
  const active = (TableName) => async () => {
    const { Table } = await client.call('DescribeTable', { TableName });
    return Table.TableStatus === 'ACTIVE';
  };
  const drop = async (TableName) => {
    await client.call('DeleteTable', { TableName });
    while (await client.call('DescribeTable', { TableName }).then(() => true, () => false)) await after(10);
    await after(1000);
  };
  sayJob('import of DYNAMODB_JSON in GZIP', await imported('bench', 'in/', 'DYNAMODB_JSON'));
  // What the import has left to compact is not the backup's.
  await settle(server);

  const backup = (name) => job(server, () => client.call('CreateBackup', { TableName: 'bench', BackupName: name }), async ({ BackupDetails: { BackupArn } }) => {
    const { BackupDescription } = await client.call('DescribeBackup', { BackupArn });
    return BackupDescription.BackupDetails.BackupStatus === 'AVAILABLE';
  });
  const backups = [];
  for (let i = 0; i < 3; ++i) backups.push(await backup(`alone-${i}`));
  backups.sort((a, b) => a.cpu - b.cpu);
  sayJob('backup', backups[1]);
  const { BackupArn } = backups[1].begun.BackupDetails;

  // One backup after the other while GetItem is measured.
  let wanted = false;
  let made = 0;
  const results = await byTurns(['without', 'with'], async (kind, round) => {
    wanted = kind === 'with';
    const making = (async () => {
      while (wanted) {
        const { begun } = await backup(`during${round}`);
        ++made;
        await client.call('DeleteBackup', { BackupArn: begun.BackupDetails.BackupArn });
      }
    })();
    if (wanted) await after(200);
    const result = await measure(server, 'get', { items: kItems, seed: round + 1, connections: kCalmConnections });
    wanted = false;
    await making;
    return result;
  });
  for (const kind of ['without', 'with']) {
    say(`GetItem ${kind} a backup`, `p50 ${show(results[kind], 'p50', 2)} ms, p99 ${show(results[kind], 'p99', 2)} ms, ${show(results[kind], 'rate', 0)} requests/s`);
  }
  say('p99 with / without', `${show(results.with.map((one, round) => ({ ratio: one.p99 / results.without[round].p99 })), 'ratio', 2)}, ${made} backups`);

  sayJob('restore of the backup', await job(server, () => client.call('RestoreTableFromBackup', { TargetTableName: 'restored', BackupArn }), active('restored')));
  await drop('restored');
  await protect(server, 'bench');
  await settle(server);
  await after(50);
  const moment = Date.now() / 1000;
  await after(50);
  await measure(server, 'put', { items: kItems, seconds: 1 });
  await after(1100);
  const toMoment = (more) => ({ SourceTableName: 'bench', TargetTableName: 'then', ...more });
  sayJob('restore to a moment', await job(server, () => client.call('RestoreTableToPointInTime', toMoment({ RestoreDateTime: moment })), active('then')));
  await drop('then');
  const exported = await job(server, () => client.call('ExportTableToPointInTime', { TableArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/bench', S3Bucket: 'bucket' }),
    async ({ ExportDescription: { ExportArn } }) => {
      const { ExportDescription: now } = await client.call('DescribeExport', { ExportArn });
      if (now.ExportStatus === 'FAILED') throw new Error(JSON.stringify(now));
      return now.ExportStatus === 'COMPLETED';
    });
  sayJob('export', exported);
  // The time to ACTIVE beside that of a table that is a hundred times smaller.
  const small = Math.round(kItems / 100);
  await client.createTable('small', [['pk', 'S']]);
  await client.fill('small', item, small);
  const smallBackup = await client.call('CreateBackup', { TableName: 'small', BackupName: 'small' });
  const smallArn = smallBackup.BackupDetails.BackupArn;
  while ((await client.call('DescribeBackup', { BackupArn: smallArn })).BackupDescription.BackupDetails.BackupStatus !== 'AVAILABLE') await after(5);
  const restored = await job(server, () => client.call('RestoreTableFromBackup', { TargetTableName: 'small-restored', BackupArn: smallArn }), active('small-restored'));
  say('time to ACTIVE, a hundredth', `${restored.seconds.toFixed(3)} s, ${restored.cpu.toFixed(2)} s of CPU, for ${small} items`);
  await stop(server);
}

// Waits until the server has used next to no CPU for a second.
async function settle(server) {
  for (let i = 0; i < 120; ++i) {
    const before = cpuSeconds(server.child.pid);
    await after(1000);
    if (cpuSeconds(server.child.pid) - before < 0.05) return;
  }
}

async function past() {
  const kChanges = 100_000;
  const args = ['--clock=manual', '--clock-start=2026-11-21T12:00:00Z', '--pitr-lag=1ms'];
  // `changed`: the number of items that share the changes.
  for (const changed of [10_000, 100]) {
    const server = await start(`past${changed}`, args);
    await server.client.createTable('bench', [['pk', 'S']]);
    await protect(server, 'bench');
    await server.client.fill('bench', item, 10_000);
    await advanceClock(server, 60);
    const asOf = '2026-11-21T12:00:30Z';
    for (let done = 0; done < kChanges; done += changed) await server.client.fill('bench', (i) => item(i % changed), changed, changed < 1000 ? 1 : kConnections);
    await advanceClock(server, 3600);
    await settle(server);
    const kinds = ['plain', 'as of'];
    for (const kind of kinds) await measure(server, 'get', { items: changed, seconds: 1, asOf: kind === 'as of' && asOf });
    const results = await byTurns(kinds, (kind, round) => measure(server, 'get', { items: changed, seed: round + 1, asOf: kind === 'as of' && asOf }));
    for (const kind of kinds) {
      say(`GetItem ${kind}, of ${changed} items`, `${show(results[kind], 'cpu', 2)} us of CPU, p50 ${show(results[kind], 'p50', 2)} ms, p99 ${show(results[kind], 'p99', 2)} ms`);
    }
    say(`as of / plain, of ${changed} items`, show(results['as of'].map((one, round) => ({ ratio: one.cpu / results.plain[round].cpu })), 'ratio', 2));
    await stop(server);
  }
}

try {
  for (const part of options.only.split(',')) await { put, data, past }[part]();
} finally {
  for (const server of servers) {
    server.child.kill('SIGCONT');
    await server.kill();
  }
  fs.rmSync(directory, { recursive: true, force: true });
}
