// Backups and restores under load, kill -9 at random points, full disks and damaged files: a backup is of one moment, it and a
// restored table are there whole or not at all, and a job that fails leaves the table and the store as they were.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { call, isStator, request, Server } from '../sdk/harness.mjs';
import { Judge } from './judge.mjs';

const unusable = process.env.STATOR_ENDPOINT || !isStator ? 'the server and its files are not ours'
  : process.env.STATOR_CLUSTER_CONF ? 'backups are refused on a cluster' : false;
const noMount = unusable || (process.getuid() !== 0 && 'only root can mount a small disk');
const rounds = Number(process.env.STATOR_CRASH_ROUNDS ?? 12);
const MB = 1 << 20;

// Repeatable from its seed.
function randomOf(seed) {
  let state = BigInt(seed);
  return (bound) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(bound));
  };
}

class World {
  static async with(use, { args = [], root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-backup-')) } = {}) {
    const world = new World();
    world.root = root;
    world.args = ['--memory-budget-mb', '16', ...args];
    try {
      await world.start();
      await use(world);
    } finally {
      world.agent?.destroy();
      if (world.server && (world.server.child.exitCode ?? world.server.child.signalCode) === null) await world.server.kill();
      fs.rmSync(root, { recursive: true, force: true });
    }
  }
  get backupDir() { return path.join(this.root, 'data-backups'); }
  async start() {
    this.agent?.destroy();
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
    this.server = await Server.startOne({ dataDir: path.join(this.root, 'data'), args: this.args });
  }
  send(operation, body) { return call(this.server.endpoint, operation, body, { agent: this.agent }); }
  async ok(operation, body) {
    const reply = await this.send(operation, body);
    assert.equal(reply.status, 200, `${operation}: ${reply.text}\n${this.server.output}`);
    return reply.json();
  }
  table(TableName) {
    return this.ok('CreateTable', {
      TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
  }
  async fill(TableName, count, itemOf) {
    for (let i = 0; i < count; i += 25) {
      const Items = Array.from({ length: Math.min(25, count - i) }, (_, n) => ({ PutRequest: { Item: itemOf(i + n) } }));
      const { UnprocessedItems } = await this.ok('BatchWriteItem', { RequestItems: { [TableName]: Items } });
      assert.deepEqual(UnprocessedItems, {});
    }
  }
  async items(TableName) {
    const items = new Map();
    let ExclusiveStartKey;
    do {
      const page = await this.ok('Scan', { TableName, ExclusiveStartKey });
      for (const item of page.Items) items.set(item.pk.S, item);
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    return items;
  }
  async begin(TableName, BackupName = 'mine') { return (await this.ok('CreateBackup', { TableName, BackupName })).BackupDetails.BackupArn; }
  // 'AVAILABLE', or 'gone'.
  async outcome(BackupArn) {
    for (const end = Date.now() + 60000; Date.now() < end; await delay(5)) {
      const reply = await this.send('DescribeBackup', { BackupArn });
      if (reply.status !== 200) {
        assert.match(reply.text, /BackupNotFoundException/);
        return 'gone';
      }
      if (reply.json().BackupDescription.BackupDetails.BackupStatus === 'AVAILABLE') return 'AVAILABLE';
    }
    return assert.fail('the backup is neither made nor gone');
  }
  // 'ACTIVE', or 'gone'.
  async outcomeOfRestore(TableName) {
    for (const end = Date.now() + 60000; Date.now() < end; await delay(5)) {
      const reply = await this.send('DescribeTable', { TableName });
      if (reply.status !== 200) {
        assert.match(reply.text, /ResourceNotFoundException/);
        return 'gone';
      }
      if (reply.json().Table.TableStatus === 'ACTIVE') return 'ACTIVE';
    }
    return assert.fail('the table is neither restored nor gone');
  }
  // Waits for `count` events of a kind, and returns them as text. A job tells its end a moment after it can be seen.
  async told(kind, count = 1) {
    for (const end = Date.now() + 60000; ; await delay(5)) {
      const { events } = JSON.parse(await this.events());
      const those = events.filter((one) => one.kind === kind);
      if (those.length >= count) return JSON.stringify(those);
      assert.ok(Date.now() < end, `${those.length} of ${count} events ${kind}: ${JSON.stringify(events)}`);
    }
  }
  async events() { return (await request(this.server.endpoint, { method: 'GET', path: '/_stator/events', headers: { 'X-Stator-Management': 'true' } })).text; }
}

const kAccounts = 200;
const kStart = 1000;

for (const args of [[], ['--in-memory']]) {
  test(`a backup under load is of one moment ${args.join('')}`, { skip: unusable }, () => World.with(async (world) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = randomOf(seed);
    await world.table('bank');
    await world.fill('bank', kAccounts, (i) => ({ pk: { S: `a${i}` }, sum: { N: String(kStart) }, pad: { S: 'p'.repeat(20_000) } }));
    const judge = await Judge.of(world.server);
    let ended = false;
    let transfers = 0;
    const transfersBeyond = async (number) => {
      for (const end = Date.now() + 60000; transfers <= number && Date.now() < end;) await delay(5);
      assert.ok(transfers > number, `hardly any load: ${transfers}`);
    };
    const pay = async () => {
      while (!ended) {
        const [from, to] = [random(kAccounts), random(kAccounts)];
        if (from === to) continue;
        const amount = 1 + random(50);
        const move = (account, by) => ({
          Update: {
            TableName: 'bank', Key: { pk: { S: `a${account}` } }, UpdateExpression: 'SET #s = #s + :by', ExpressionAttributeNames: { '#s': 'sum' },
            ExpressionAttributeValues: { ':by': { N: String(by) } },
          },
        });
        const reply = await world.send('TransactWriteItems', { TransactItems: [move(from, -amount), move(to, amount)] });
        if (reply.status === 200) transfers++;
        else assert.match(reply.text, /TransactionCanceled|TransactionConflict/, `seed ${seed}`);
      }
    };
    const arns = [];
    await judge.watch(async () => {
      const paying = Promise.all([pay(), pay(), pay(), pay()]);
      for (let i = 0; i < 5; i++) {
        await delay(50 + random(100));
        await transfersBeyond(10 * (i + 1));  // no two backups are the same
        arns.push(await world.begin('bank'));
        if (i % 2 === 0) assert.equal(await world.outcome(arns.at(-1)), 'AVAILABLE');
      }
      await transfersBeyond(60);
      ended = true;
      await paying;
    });
    judge.close();
    const seen = new Set();
    for (const [i, arn] of arns.entries()) {
      assert.equal(await world.outcome(arn), 'AVAILABLE');
      await world.ok('RestoreTableFromBackup', { TargetTableName: `bank${i}`, BackupArn: arn });
      assert.equal(await world.outcomeOfRestore(`bank${i}`), 'ACTIVE', world.server.output);
      const sums = [...(await world.items(`bank${i}`)).values()].map((item) => Number(item.sum.N));
      assert.equal(sums.length, kAccounts);
      assert.equal(sums.reduce((a, b) => a + b), kAccounts * kStart, `backup ${i} is not of one moment; seed ${seed}`);
      seen.add(sums.join());
    }
    assert.ok(seen.size > 1, 'the backups are all the same: nothing was written between them');
  }, { args }));
}

test(`${rounds} kills while backups are made and restored leave each whole or absent`, { skip: unusable, timeout: 300000 }, (context) => World.with(async (world) => {
  const seed = Number(process.env.STATOR_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31));
  context.diagnostic(`seed ${seed}`);
  const random = randomOf(seed);
  const kItems = 300;
  const itemOf = (i) => ({ pk: { S: `k${i}` }, v: { S: `${i}:`.padEnd(30_000, 'v') } }); // 9 MB
  await world.table('source');
  await world.fill('source', kItems, itemOf);
  const good = await world.begin('source', 'good');
  assert.equal(await world.outcome(good), 'AVAILABLE');
  const whole = await world.items('source');
  const count = { made: 0, absent: 0, restored: 0, goneOn: 0, notBegun: 0 };
  // How long the jobs take depends on the machine: it goes on until kills have hit a backup and a restore.
  const hit = () => count.absent > 0 && count.goneOn > 0;
  for (let round = 0; round < rounds || (!hit() && round < 10 * rounds); round++) {
    const target = `target${round}`;
    const begun = [];
    begun.push(await world.begin('source', `round${round}`));
    const restoring = world.send('RestoreTableFromBackup', { TargetTableName: target, BackupArn: good }).catch(() => undefined);
    await delay(random(120));
    await world.server.kill();
    await restoring;
    await world.start();
    assert.equal(await world.outcome(good), 'AVAILABLE', 'a whole backup is gone');
    for (const arn of begun) {
      const state = await world.outcome(arn);
      const directory = path.join(world.backupDir, arn.split('/').pop());
      assert.equal(fs.existsSync(path.join(directory, 'manifest.json')), state === 'AVAILABLE');
      count[state === 'AVAILABLE' ? 'made' : 'absent']++;
      if (state !== 'AVAILABLE' || random(3) > 0) continue;
      await world.ok('RestoreTableFromBackup', { TargetTableName: `check${round}`, BackupArn: arn });
      assert.equal(await world.outcomeOfRestore(`check${round}`), 'ACTIVE', world.server.output);
      assert.deepEqual(await world.items(`check${round}`), whole, `backup of round ${round}, seed ${seed}`);
      await world.ok('DeleteTable', { TableName: `check${round}` });
    }
    assert.deepEqual(fs.readdirSync(world.backupDir).filter((name) => /\.(partial|removed)$/.test(name)), [], 'rubbish is left');
    const described = await world.send('DescribeTable', { TableName: target });
    if (described.status !== 200) {
      count.notBegun++;
      continue;
    }
    const goesOn = described.json().Table.TableStatus === 'CREATING';
    assert.equal(await world.outcomeOfRestore(target), 'ACTIVE', world.server.output);
    count[goesOn ? 'goneOn' : 'restored']++;
    assert.deepEqual(await world.items(target), whole, `restore of round ${round}, seed ${seed}`);
    assert.equal((await world.ok('DescribeTable', { TableName: target })).Table.ItemCount, kItems);
    await world.ok('DeleteTable', { TableName: target });
  }
  context.diagnostic(JSON.stringify(count));
  assert.ok(hit(), `no kill hit a job: ${JSON.stringify(count)}`);
}));

test('a damaged, missing or swapped file is refused by name, and no table is left', { skip: unusable }, () => World.with(async (world) => {
  await world.table('source');
  await world.fill('source', 100, (i) => ({ pk: { S: `k${i}` }, v: { S: 'v'.repeat(5000) } }));
  const arns = [await world.begin('source'), await world.begin('source')];
  for (const arn of arns) assert.equal(await world.outcome(arn), 'AVAILABLE');
  const [first, second] = arns.map((arn) => path.join(world.backupDir, arn.split('/').pop()));
  const file = path.join(first, 'data-000001');
  const sound = fs.readFileSync(file);
  const damages = {
    'one bit': () => { const bytes = Buffer.from(sound); bytes[bytes.length >> 1] ^= 4; fs.writeFileSync(file, bytes); },
    'cut off': () => fs.writeFileSync(file, sound.subarray(0, sound.length - 10)),
    empty: () => fs.writeFileSync(file, ''),
    'of another backup': () => fs.copyFileSync(path.join(second, 'data-000001'), file),
    missing: () => fs.rmSync(file),
  };
  for (const [i, [name, damage]] of Object.entries(damages).entries()) {
    damage();
    await world.ok('RestoreTableFromBackup', { TargetTableName: 'target', BackupArn: arns[0] });
    assert.equal(await world.outcomeOfRestore('target'), 'gone', name);
    const events = await world.told('restore_failed', i + 1);
    assert.equal(events.split(`The file data-000001 of the backup ${path.basename(first)} is damaged`).length, i + 2, `${name}: ${events}`);
  }
  fs.writeFileSync(file, sound);
  await world.ok('RestoreTableFromBackup', { TargetTableName: 'target', BackupArn: arns[0] });
  assert.equal(await world.outcomeOfRestore('target'), 'ACTIVE');
  assert.deepEqual(await world.items('target'), await world.items('source'));
  // A damaged manifest is no backup, and the log names it.
  const manifest = path.join(first, 'manifest.json');
  fs.writeFileSync(manifest, fs.readFileSync(manifest, 'utf8').replace('"source"', '"sauces"'));
  await world.server.kill();
  await world.start();
  assert.equal(await world.outcome(arns[0]), 'gone');
  assert.equal(await world.outcome(arns[1]), 'AVAILABLE');
  await world.server.logged(/backup_not_read.*manifest\.json is damaged/);
}));

// A tmpfs of its own at `root`.
async function onSmallDisk(context, megabytes, use) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-disk-'));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', root]).status !== 0) {
    fs.rmdirSync(root);
    return context.skip('this machine lets nobody mount a tmpfs');
  }
  try {
    await use(root);
  } finally {
    spawnSync('umount', ['-l', root]);
    fs.rmSync(root, { recursive: true, force: true });
  }
}

test('a full disk fails the backup with a message and leaves table and store whole', { skip: noMount }, (context) => onSmallDisk(context, 260, (disk) => World.with(async (world) => {
  await world.table('source');
  const itemOf = (i) => ({ pk: { S: `k${i}` }, v: { S: `${i}:`.padEnd(100_000, `abcdefghij${i}klmnopq`) } });
  await world.fill('source', 500, itemOf); // 50 MB
  const before = await world.items('source');
  const filler = path.join(disk, 'filler');
  const free = () => { const stat = fs.statfsSync(disk); return stat.bavail * stat.bsize; };
  fs.writeFileSync(filler, Buffer.alloc(Math.max(0, free() - 140 * MB)));
  const arn = await world.begin('source');
  assert.equal(await world.outcome(arn), 'gone');
  const events = await world.told('backup_failed');
  assert.match(events, /MB of them are not for backups/);
  assert.deepEqual(fs.readdirSync(path.join(disk, 'backups')), ['LOCK']);
  assert.deepEqual(await world.items('source'), before);
  await world.ok('PutItem', { TableName: 'source', Item: itemOf(1000) });
  fs.rmSync(filler);
  assert.equal(await world.outcome(await world.begin('source')), 'AVAILABLE', 'there is space again');
}, { args: ['--backup-dir', path.join(disk, 'backups')], root: path.join(disk, 'server') })));

test('a full disk fails the restore with a message and leaves the store whole', { skip: noMount }, (context) => onSmallDisk(context, 300, (disk) => World.with(async (world) => {
  await world.table('source');
  const itemOf = (i) => ({ pk: { S: `k${i}` }, v: { S: `${i}:`.padEnd(100_000, `abcdefghij${i}klmnopq`) } });
  await world.fill('source', 300, itemOf); // 30 MB
  const arn = await world.begin('source');
  assert.equal(await world.outcome(arn), 'AVAILABLE');
  const before = await world.items('source');
  const filler = path.join(disk, 'filler');
  const free = () => { const stat = fs.statfsSync(disk); return stat.bavail * stat.bsize; };
  // The server may set space of its own aside meanwhile, so that there is none for the call itself.
  for (let tries = 0; ; ++tries) {
    fs.writeFileSync(filler, '');
    fs.writeFileSync(filler, Buffer.alloc(Math.max(0, free() - 75 * MB)));
    const { status } = await world.send('RestoreTableFromBackup', { TargetTableName: 'target', BackupArn: arn });
    if (status === 200) break;
    assert.ok(status === 500 && tries < 20, `${status} after ${tries} tries`);
  }
  assert.equal(await world.outcomeOfRestore('target'), 'gone');
  assert.match(await world.told('restore_failed'), /target could not be restored .* and is gone: .*disk/i);
  assert.deepEqual(await world.items('source'), before);
  fs.rmSync(filler);
  await world.ok('RestoreTableFromBackup', { TargetTableName: 'target', BackupArn: arn });
  assert.equal(await world.outcomeOfRestore('target'), 'ACTIVE', await world.events());
  assert.deepEqual(await world.items('target'), before);
}, { args: ['--backup-dir', path.join(os.tmpdir(), `${path.basename(disk)}-backups`)], root: path.join(disk, 'server') })
  .finally(() => fs.rmSync(path.join(os.tmpdir(), `${path.basename(disk)}-backups`), { recursive: true, force: true }))));
