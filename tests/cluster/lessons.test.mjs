// The lesson that needs a cluster: replicas and W + R > N, with OSDs that are killed. STATOR_CLUSTER_DIR is the cluster's
// directory; nothing else may use the cluster meanwhile.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';

import { play } from '../../examples/lessons/replicas/live.mjs';
import { Server } from '../sdk/harness.mjs';

const { DynamoDB } = createRequire(new URL('../sdk/package.json', import.meta.url))('@aws-sdk/client-dynamodb');
const directory = process.env.STATOR_CLUSTER_DIR;
const store = ['--engine=rados', `--ceph-conf=${path.join(directory, 'ceph.conf')}`, '--ceph-user=stator', '--pool=stator',
  `--ceph-namespace=lessons-${process.pid}`];

const connect = (endpoint, { timeout, ...more } = {}) => new DynamoDB({
  endpoint, region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' },
  ...(timeout && { requestHandler: { requestTimeout: timeout, throwOnRequestTimeout: true } }), ...more });

test('replicas: no acknowledged write is lost, or stale to a strong read, and one copy of three acknowledges nothing', async () => {
  const servers = [];
  try {
    for (let n = 0; n < 3; n++) servers.push(await Server.startOne({ args: store, dataDir: null }));
    const said = [];
    const outcome = await play({ endpoints: servers.map(({ endpoint }) => endpoint), connect, directory, say: (line) => said.push(line) });
    for (const copies of [outcome.three, outcome.two]) delete copies.eventualStale; // by how fast the machine is
    const sound = { acknowledged: 100, strongStale: 0, lastSeen: true };
    assert.deepEqual(outcome, { three: sound, two: sound, one: 'no answer', kept: true }, said.join('\n'));
  } finally {
    for (const server of servers) await server.stop();
  }
});

test('replicas: one server is told what the lesson needs', async () => {
  const said = [];
  assert.equal(await play({ endpoints: ['http://localhost:8000'], connect, say: (line) => said.push(line) }), undefined);
  assert.match(said[0], /several servers of one Ceph cluster/);
});
