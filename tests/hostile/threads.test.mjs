// A system that makes no further thread ends no server: threads that are begun when they are first needed are begun later.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { test } from 'node:test';

import { until } from '../sdk/functions.mjs';
import { binary, call, isStator, Server } from '../sdk/harness.mjs';

// The limit does not hold for root.
const kOtherUser = ['setpriv', '--reuid=65534', '--clear-groups', '--inh-caps=-all'];
const runs = isStator && process.getuid() === 0 && spawnSync(kOtherUser[0], [...kOtherUser.slice(1), process.env.STATOR_BIN ?? 'build/release/stator', '--version']).status === 0;
const ours = {
  skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : process.env.STATOR_CLUSTER_CONF ? 'one server shows it' : !runs ? 'the server cannot be run by another user' : false,
  timeout: 120000,
};

test('a server at its limit of threads goes on, and makes up for it later', ours, async () => {
  const server = await Server.startOne({ dataDir: null, args: ['--in-memory'], under: kOtherUser });
  const must = async (operation, body) => {
    const reply = await call(server.endpoint, operation, body);
    assert.equal(reply.status, 200, reply.text);
    return reply.json();
  };
  // The soft limit, which a process of the same user may change.
  const [, before] = /^Max processes\s+(\S+)/m.exec(fs.readFileSync(`/proc/${server.child.pid}/limits`, 'utf8'));
  const limitThreads = (limit) => {
    const done = spawnSync(kOtherUser[0], [...kOtherUser.slice(1), 'prlimit', `--pid=${server.child.pid}`, `--nproc=${limit}:`], { encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
  };
  const definition = { AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }] };
  const addIndex = (TableName) => must('UpdateTable', {
    TableName, ...definition,
    GlobalSecondaryIndexUpdates: [{ Create: { IndexName: 'by-pk', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } } }],
  });
  try {
    for (const TableName of ['one', 'two']) {
      await must('CreateTable', { TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], ...definition });
    }
    limitThreads(1);
    await addIndex('one');
    await must('PutItem', { TableName: 'one', Item: { pk: { S: 'a' } } });
    await until(() => server.output.includes('thread_not_begun'), { what: 'the server says that no thread could be begun' });
    assert.equal(server.child.exitCode, null, server.output);
    limitThreads(before);
    await addIndex('two');
    for (const TableName of ['one', 'two']) {
      await until(async () => (await must('DescribeTable', { TableName })).Table.GlobalSecondaryIndexes[0].IndexStatus === 'ACTIVE', { what: `the index of ${TableName} is built` });
    }
    assert.equal((await must('Query', {
      TableName: 'one', IndexName: 'by-pk', KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': { S: 'a' } },
    })).Count, 1);
  } finally {
    await server.kill();
  }
});

test('a server that has too few threads to start says so', ours, async () => {
  const threads = 'import resource; resource.setrlimit(resource.RLIMIT_NPROC, (3, 3)); import os, sys; os.execv(sys.argv[1], sys.argv[1:])';
  const ended = spawnSync(kOtherUser[0], [...kOtherUser.slice(1), '/usr/bin/python3', '-c', threads, binary, 'serve', '--in-memory', '--port', '0'], { encoding: 'utf8', timeout: 60000 });
  assert.equal(ended.status, 1, ended.stderr);
  assert.match(ended.stderr, /^stator: the system makes no more threads for this process\. Raise its limit: .*pids of its container\.$/m);
  assert.doesNotMatch(ended.stderr, /terminate/);
});
