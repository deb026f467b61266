// Writes the stores of a release for upgrade.test.mjs. Run with the release's own binary, once, when a format is about to
// change:
//
//   STATOR_BIN=/path/to/released/stator node make.mjs NAME [CLUSTER_DIR]
//
// makes NAME/rocksdb.tgz and NAME/rocksdb.json (what a client saw in it); with the directory of a running, empty cluster
// (tests/cluster/cluster) also NAME/rados.gz (`rados export`) and NAME/rados.json.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';

import { Server } from '../sdk/harness.mjs';
import { fill, kClock, storeName, view } from './contents.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const [name, clusterDirectory] = process.argv.slice(2);
const folder = path.join(here, name);
fs.mkdirSync(folder, { recursive: true });

async function record(server, file) {
  await fill(server);
  fs.writeFileSync(path.join(folder, file), `${JSON.stringify(await view(server), null, 1)}\n`);
}

const dataDir = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'stator-upgrade-')), 'store');
const embedded = await Server.startOne({ args: kClock, dataDir });
await record(embedded, 'rocksdb.json');
// The log holds the last writes, as after a crash.
await embedded.kill();
execFileSync('tar', ['-C', path.dirname(dataDir), '--exclude=LOCK', '--exclude=LOG*', '-czf', path.join(folder, 'rocksdb.tgz'), 'store']);
fs.rmSync(path.dirname(dataDir), { recursive: true });

if (clusterDirectory) {
  const store = storeName(name);
  const server = await Server.startOne({
    args: ['--engine=rados', `--ceph-conf=${clusterDirectory}/ceph.conf`, '--ceph-user=stator', '--pool=stator', `--ceph-namespace=${store}`, ...kClock],
    dataDir: null, readyWithin: 60000,
  });
  await record(server, 'rados.json');
  await server.kill();
  // The export holds the objects of all namespaces, so the cluster must be a new one.
  const cluster = (...args) => execFileSync(path.join(here, '../cluster/cluster'), ['--dir', clusterDirectory, ...args], { maxBuffer: 1 << 28 });
  const dump = path.join(folder, 'rados.dump');
  cluster('rados', '-p', 'stator', 'export', dump);
  fs.writeFileSync(path.join(folder, 'rados.gz'), zlib.gzipSync(fs.readFileSync(dump), { level: 9 }));
  fs.rmSync(dump);
}
