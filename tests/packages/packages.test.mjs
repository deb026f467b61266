// Installs and starts every artefact of a release as a user does. STATOR_ARTEFACTS names their directory. With
// STATOR_PACKAGES=short only the tests that need no bare Debian and no network.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand } from '../sdk/node_modules/@aws-sdk/client-dynamodb/dist-cjs/index.js';
import { freePort } from '../sdk/harness.mjs';
import { assertShows, kClock, view } from '../upgrade/contents.mjs';
import {
  artefact, artefacts, assertNeedsOnlyTheSystem, cleanUp, eventually, kBareEnvironment, kLibradosAsked, refusedPool, root, run, startAndWait,
  started, stop, unpackImage, version, within, work,
} from './artefacts.mjs';

const bare = path.join(root, 'build', 'bare');  // an untouched Debian 12
const kFirstRelease = '88923a3';  // its stores are in tests/upgrade
const short = process.env.STATOR_PACKAGES === 'short';
const long = { skip: short && 'not in the short form' };

// A copy of the bare system.
function copyOfBare(name) {
  const copy = path.join(work, name);
  run('cp', '-a', bare, copy);
  for (const device of [['null', 3], ['zero', 5], ['random', 8], ['urandom', 9]]) {
    const file = path.join(copy, 'dev', device[0]);
    if (!fs.existsSync(file)) run('mknod', '-m', '666', file, 'c', '1', String(device[1]));
  }
  return copy;
}

const inside = (system, ...args) => run('chroot', system, '/usr/bin/env', '-i', `PATH=${kBareEnvironment.PATH}`, 'DEBIAN_FRONTEND=noninteractive', ...args);
// apt-get within a system, with the sources of this one.
function aptIn(system, ...args) {
  fs.copyFileSync('/etc/resolv.conf', path.join(system, 'etc', 'resolv.conf'));
  for (const file of ['etc/apt/sources.list', 'etc/apt/apt.conf.d']) {
    if (fs.existsSync(`/${file}`)) run('cp', '-a', '-T', `/${file}`, path.join(system, file));
  }
  return inside(system, 'apt-get', '-q', ...args);
}

// The first steps of the README with the SDK, and a read with the CLI.
async function firstSteps(endpoint) {
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials: { accessKeyId: 'any', secretAccessKey: 'any' } });
  await client.send(new CreateTableCommand({
    TableName: 'Music', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'Artist', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'Artist', AttributeType: 'S' }],
  }));
  const Item = { Artist: { S: 'Acme Band' }, Songs: { N: '12' } };
  await client.send(new PutItemCommand({ TableName: 'Music', Item }));
  const got = await client.send(new GetItemCommand({ TableName: 'Music', Key: { Artist: Item.Artist }, ConsistentRead: true }));
  assert.deepEqual(got.Item, Item);
  client.destroy();
  const printed = execFileSync('/usr/bin/aws', ['dynamodb', 'get-item', '--table-name', 'Music', '--key', JSON.stringify({ Artist: Item.Artist }), '--endpoint-url', endpoint],
    { env: { PATH: process.env.PATH, HOME: work, AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any', AWS_DEFAULT_REGION: 'us-east-1' }, encoding: 'utf8' });
  assert.deepEqual(JSON.parse(printed).Item, Item);
}

before(() => {
  if (!short && !fs.existsSync(path.join(bare, 'etc', 'debian_version'))) {
    fs.rmSync(bare, { recursive: true, force: true });
    run('debootstrap', '--variant=minbase', 'bookworm', bare);
  }
}, { timeout: 600000 });
after(cleanUp);

test('the checksums are those of the files', () => {
  execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: artefacts });
});

const tarball = `stator-${version}-linux-x64`;
function unpackTarball() {
  if (!fs.existsSync(path.join(work, tarball))) run('tar', '-xzf', artefact(`${tarball}.tar.gz`), '-C', work);
  return path.join(work, tarball);
}

test('the tarball asks the system for glibc, libstdc++ and libgcc only, of 2022 at the latest', () => {
  const directory = unpackTarball();
  assertNeedsOnlyTheSystem(directory);
  assert.ok(fs.statSync(artefact(`${tarball}.tar.gz`)).size < 15e6);
});

test('the tarball serves in a bare Debian 12, and finds librados', { ...long, timeout: 300000 }, async () => {
  const system = copyOfBare('of-tarball');
  run('tar', '-xzf', artefact(`${tarball}.tar.gz`), '-C', path.join(system, 'opt'));
  const port = await freePort();
  const binary = `/opt/${tarball}/bin/stator`;
  const server = await startAndWait(...within(system, [binary, 'serve', '--port', String(port), '--data-dir', '/opt/data']), port, { env: kBareEnvironment });
  await firstSteps(server.endpoint);
  assert.equal(await stop(server), 0);
  // Without the library of Ceph a pool is refused with a sentence. With it the library is loaded and asks for the cluster.
  assert.match(refusedPool(system, binary), /librados/);
  aptIn(system, 'update');
  aptIn(system, 'install', '-y', '--no-install-recommends', 'librados2');
  assert.match(refusedPool(system, binary), kLibradosAsked);
});

test('the Debian package installs, serves by its unit, keeps data over an upgrade, and purges', { ...long, timeout: 400000 }, async () => {
  const system = copyOfBare('of-deb');
  fs.copyFileSync(artefact(`stator_${version}_amd64.deb`), path.join(system, 'root', 'stator.deb'));
  fs.copyFileSync(olderPackage(), path.join(system, 'root', 'older.deb'));
  aptIn(system, 'update');
  aptIn(system, 'install', '-y', '--no-install-recommends', '/root/older.deb');
  assert.match(inside(system, 'stator', '--version'), new RegExp(`^stator ${version.replaceAll('.', '\\.')} [(][0-9a-f]+(-dirty)?, x86-64, GCC `));

  // systemd does not run here: its directory and socket are made by hand, the user and the command line are the unit's.
  const unit = fs.readFileSync(path.join(system, 'lib', 'systemd', 'system', 'stator.service'), 'utf8');
  const setting = (name) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)[1];
  assert.equal(setting('Type'), 'notify');
  const id = /^stator:x:(\d+):(\d+):/m.exec(fs.readFileSync(path.join(system, 'etc', 'passwd'), 'utf8'));
  assert.ok(id, 'the package makes a user of its own');
  const state = `/var/lib/${setting('StateDirectory')}`;
  inside(system, 'install', '-d', '-o', setting('User'), '-g', setting('Group'), '-m', setting('StateDirectoryMode'), state);
  const port = await freePort();
  // Runs the unit's command line while `use` asks the server, then stops it as systemd does.
  const serve = async (use, ...more) => {
    const told = [];
    const name = `/tmp/notify-${Math.random()}`;
    const socket = await listenForDatagrams(path.join(system, name), told);
    const server = await startAndWait(...within(system, [...setting('ExecStart').split(' '), '--port', String(port), ...more], { user: `${id[1]}:${id[2]}` }), port,
      { env: { ...kBareEnvironment, NOTIFY_SOCKET: name, WATCHDOG_USEC: '3000000' } });
    await eventually(() => told.includes('READY=1') && told.includes('WATCHDOG=1'), () => `the supervisor was told ${told.join(', ')}`);
    await use(server);
    assert.equal(await stop(server), 0, server.output());
    await eventually(() => told.includes('STOPPING=1'), () => `the supervisor was told ${told.join(', ')}`);
    socket.kill('SIGKILL');
  };

  // The service finds the store of the first release in its directory.
  const expected = JSON.parse(fs.readFileSync(path.join(root, 'tests', 'upgrade', kFirstRelease, 'rocksdb.json'), 'utf8'));
  const data = path.join(system, state, 'data');
  run('tar', '-xzf', path.join(root, 'tests', 'upgrade', kFirstRelease, 'rocksdb.tgz'), '-C', path.join(system, state));
  run('mv', path.join(system, state, 'store'), data);
  inside(system, 'chown', '-R', `${setting('User')}:${setting('Group')}`, `${state}/data`);
  await serve(async (server) => assertShows(await view(server), expected, 'the first release'), ...kClock);
  fs.rmSync(data, { recursive: true });

  await serve((server) => firstSteps(server.endpoint));
  const settings = path.join(system, 'etc', 'stator', 'stator.toml');
  fs.appendFileSync(settings, '# of this machine\n');
  assert.match(aptIn(system, 'install', '-y', '/root/stator.deb'), /Unpacking stator \(.*\) over \(.*~older\)/);
  assert.match(fs.readFileSync(settings, 'utf8'), /# of this machine\n$/);
  await serve(async (server) => {
    const client = new DynamoDBClient({ endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'any', secretAccessKey: 'any' } });
    const got = await client.send(new GetItemCommand({ TableName: 'Music', Key: { Artist: { S: 'Acme Band' } } }));
    assert.equal(got.Item.Songs.N, '12');
    client.destroy();
  });

  assert.match(refusedPool(system, '/usr/bin/stator'), /librados/);
  fs.copyFileSync(artefact(`stator-cluster_${version}_all.deb`), path.join(system, 'root', 'stator-cluster.deb'));
  aptIn(system, 'install', '-y', '--no-install-recommends', '/root/stator-cluster.deb');
  assert.match(refusedPool(system, '/usr/bin/stator'), kLibradosAsked);

  aptIn(system, 'purge', '-y', 'stator', 'stator-cluster');
  for (const gone of ['usr/bin/stator', 'etc/stator', 'lib/systemd/system/stator.service'])
    assert.ok(!fs.existsSync(path.join(system, gone)), `${gone} is left`);
  assert.ok(fs.existsSync(data), 'purging the package does not delete data');
});

// The package under an older version.
function olderPackage() {
  const directory = path.join(work, 'older');
  run('dpkg-deb', '-R', artefact(`stator_${version}_amd64.deb`), directory);
  const control = path.join(directory, 'DEBIAN', 'control');
  fs.writeFileSync(control, fs.readFileSync(control, 'utf8').replace(/^Version: (.*)$/m, 'Version: $1~older'));
  run('dpkg-deb', '--root-owner-group', '-b', directory, `${directory}.deb`);
  return `${directory}.deb`;
}

// A socket of the kind that systemd listens on: Node has none, so Python receives and prints.
async function listenForDatagrams(socketPath, told) {
  const program = 'import socket, os, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\nos.chmod(sys.argv[1], 0o777)\nprint("bound", flush=True)\nwhile True: print(s.recv(4096).decode(), flush=True)';
  const child = spawn('/usr/bin/python3', ['-c', program, socketPath], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  await new Promise((resolve) => {
    child.stdout.on('data', (text) => {
      for (const line of String(text).split('\n').filter(Boolean)) {
        if (line === 'bound') resolve();
        else told.push(line);
      }
    });
  });
  return child;
}

test('the unit is hardened, and lintian finds nothing', long, () => {
  const directory = fs.mkdtempSync(path.join(work, 'unit-'));
  run('dpkg-deb', '-x', artefact(`stator_${version}_amd64.deb`), directory);
  const unit = path.join(directory, 'lib', 'systemd', 'system', 'stator.service');
  const level = /exposure level for stator.service: ([0-9.]+)/.exec(run('systemd-analyze', 'security', '--offline=true', `--root=${directory}`, 'stator.service'));
  assert.ok(Number(level[1]) < 2, level[0]);
  assert.ok(fs.existsSync(unit));
  const lint = spawnSync('lintian', ['--allow-root', artefact(`stator_${version}_amd64.deb`), artefact(`stator-cluster_${version}_all.deb`)], { encoding: 'utf8' });
  assert.doesNotMatch(lint.stdout, /^[EW]: /m);
});

// Starts the entry point with `command` as a container of the image would: read-only but for /data, which is empty.
const kReadOnlyButForData = (system) => `mount --bind '${system}' '${system}' && mount -o remount,bind,ro '${system}' && ` +
  `mount -t tmpfs tmpfs '${system}/data' && chmod 1777 '${system}/data' && `;
function startImage({ config, system }, command, port, { user, env = {} }) {
  const declared = Object.fromEntries(config.Env.map((entry) => entry.split(/=(.*)/s).slice(0, 2)));
  const [program, args] = within(system, [...config.Entrypoint, ...command], { user, before: kReadOnlyButForData(system), directory: config.WorkingDir });
  return startAndWait(`/usr/bin/${program}`, args, port, { env: { ...declared, STATOR_PORT: String(port), ...env, PATH: process.env.PATH } });
}

test('the image serves as it is configured, for any user id, read-only, and takes the command line of DynamoDB Local', { ...long, timeout: 300000 }, async (t) => {
  assert.ok(fs.statSync(artefact(`stator-image-${version}-amd64.tar`)).size < 30e6);
  const from = performance.now();
  const image = unpackImage('stator');
  const unpacked = performance.now();
  assert.deepEqual(image.config.Entrypoint, ['/usr/bin/stator']);
  assert.equal(image.config.User, '10001:10001');
  assert.ok(image.config.ExposedPorts['8000/tcp'] && image.config.Volumes['/data']);
  for (const [user, command, env] of [
    [image.config.User, []],
    [image.config.User, ['serve'], { STATOR_DATA_DIR: '/data/store' }],
    ['54321:54321', ['-Djava.library.path=./DynamoDBLocal_lib', '-jar', 'DynamoDBLocal.jar', '-sharedDb', '-dbPath', '/data']],
    ['54321:54321', ['-jar', 'DynamoDBLocal.jar', '-inMemory', '-sharedDb']],
  ]) {
    const port = await freePort();
    const begun = performance.now();
    const server = await startImage(image, command, port, { user, env });
    t.diagnostic(`unpacked in ${Math.round(unpacked - from)} ms, ready after another ${Math.round(performance.now() - begun)} ms: ${command.join(' ')}`);
    await firstSteps(server.endpoint);
    const check = () => spawnSync('chroot', [image.system, '/usr/bin/stator', 'healthcheck', '--port', String(port)], { encoding: 'utf8' });
    const healthy = check();
    assert.equal(healthy.status, 0, healthy.stderr);
    assert.equal(healthy.stdout, 'ready\n');
    assert.equal(await stop(server), 0, server.output());
    assert.equal(check().status, 1);
  }
});

test('the cluster image brings librados', { ...long, timeout: 300000 }, async () => {
  const image = unpackImage('stator-cluster');
  fs.writeFileSync(path.join(image.system, 'etc', 'hosts'), '127.0.0.1 localhost\n');  // as a container gets it
  assert.match(refusedPool(image.system, '/usr/bin/stator'), kLibradosAsked);
  const port = await freePort();
  const server = await startImage(image, ['serve', '--in-memory'], port, { user: '54321:54321' });
  await firstSteps(server.endpoint);
  assert.equal(await stop(server), 0);
});

test('the cluster image serves a pool of Ceph', { ...long, timeout: 300000 }, async () => {
  const directory = path.join(work, 'ceph');
  const cluster = (...args) => execFileSync(path.join(root, 'tests', 'cluster', 'cluster'), ['--dir', directory, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    cluster('up', '--port', '13600');
    const { config, system } = unpackImage('stator-cluster');
    const ceph = path.join(system, 'etc', 'ceph');
    fs.mkdirSync(ceph);
    fs.copyFileSync(path.join(directory, 'keyring'), path.join(ceph, 'keyring'));
    fs.chmodSync(path.join(ceph, 'keyring'), 0o644);
    fs.writeFileSync(path.join(ceph, 'ceph.conf'), fs.readFileSync(path.join(directory, 'ceph.conf'), 'utf8').replaceAll(path.join(directory, 'keyring'), '/etc/ceph/keyring').replace(/^(run|crash)_dir.*$/gm, ''));
    const port = await freePort();
    const command = ['serve', '--engine=rados', '--ceph-conf=/etc/ceph/ceph.conf', '--ceph-user=stator', '--pool=stator'];
    const server = await startImage({ config, system }, command, port, { user: '54321:54321' });
    await firstSteps(server.endpoint);
    assert.equal(await stop(server), 0);
  } finally {
    cluster('destroy');
  }
});

test('the npm packages install in an empty folder, start for a suite, and run by npx', { timeout: 300000 }, async () => {
  const folder = path.join(work, 'npm');
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--offline', artefact(`stator-local-linux-x64-${version}.tgz`), artefact(`stator-local-${version}.tgz`)],
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const env = { ...process.env };
  delete env.STATOR_BIN;
  fs.writeFileSync(path.join(folder, 'user.mjs'), `
    import { start } from 'stator-local';
    const server = await start();
    console.log(server.endpoint);
    const reply = await fetch(server.endpoint + '/health/ready');
    console.log(reply.status);
    await server.stop();
    await server.stop();
    let refused;
    try { await start({ args: ['--no-such-flag'] }); } catch (error) { refused = error.message; }
    console.log(refused.includes('--no-such-flag'));
  `);
  const output = execFileSync('node', ['user.mjs'], { cwd: folder, env, encoding: 'utf8' });
  assert.match(output, /^http:\/\/127\.0\.0\.1:\d+\n200\ntrue\n$/);

  const port = await freePort();
  const server = await startAndWait('npx', ['--offline', 'stator-local', '--in-memory', '--port', String(port)], port, { cwd: folder, env, detached: true });
  await firstSteps(server.endpoint);
  process.kill(-server.child.pid, 'SIGTERM');

  // Without the package of the binary the sentence says what to do.
  fs.rmSync(path.join(folder, 'node_modules', 'stator-local-linux-x64'), { recursive: true });
  const missing = spawnSync('node', ['node_modules/stator-local/bin.mjs'], { cwd: folder, env, encoding: 'utf8' });
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /stator-local-linux-x64 is not installed/);
});

test('a second packaging of the same binary makes the same bytes', { ...long, timeout: 300000 }, () => {
  const again = path.join(work, 'again');
  execFileSync(path.join(root, 'packaging', 'release'), [process.env.STATOR_BIN ?? path.join(root, 'build', 'release', 'stator'), again], { stdio: ['ignore', 'pipe', 'pipe'] });
  const sums = (directory) => fs.readFileSync(path.join(directory, 'SHA256SUMS'), 'utf8').split('\n').filter((line) => !line.includes('arm64'));
  assert.deepEqual(sums(again), sums(artefacts));
});

test('the binary of the tarball opens the stores of earlier releases', { timeout: 300000 }, () => {
  const binary = path.join(unpackTarball(), 'bin', 'stator');
  const env = { ...process.env, STATOR_BIN: binary };
  delete env.NODE_TEST_CONTEXT;  // a test runner within a test runner
  const result = spawnSync('node', ['--test', '--test-reporter=tap', 'upgrade.test.mjs'], { cwd: path.join(root, 'tests', 'upgrade'), env, encoding: 'utf8' });
  assert.equal(result.status, 0, result.stdout + result.stderr);
  assert.match(result.stdout, /^# pass [1-9]/m);
});

test('the man page and the completion know every command of the binary', () => {
  const directory = unpackTarball();
  const help = run(path.join(directory, 'bin', 'stator'), '--help');
  const commands = [...help.slice(help.indexOf('Subcommands:')).matchAll(/^ {2}([a-z][a-z-]*) /gm)].map(([, name]) => name);
  assert.ok(commands.includes('serve') && commands.includes('healthcheck'));
  const page = fs.readFileSync(path.join(directory, 'share', 'man', 'man1', 'stator.1'), 'utf8').replaceAll('\\-', '-');
  for (const name of commands) assert.ok(page.includes(`\n.B ${name}\n`), `stator(1) does not name ${name}`);
  const complete = (...words) => execFileSync('bash', ['-c', `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stator; printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash', path.join(root, 'packaging', 'stator.bash-completion'), 'stator', ...words],
  { env: { ...process.env, PATH: `${path.join(directory, 'bin')}:${process.env.PATH}` }, encoding: 'utf8' }).trim().split('\n');
  assert.deepEqual(complete('').sort(), [...commands].sort());
  assert.deepEqual(complete('heal'), ['healthcheck']);
  assert.ok(complete('--durab').includes('--durability'));
  assert.ok(complete('healthcheck', '--p').includes('--port'));
});

test('./dev run takes the tarball or the folder that lies beside it, and builds nothing', { timeout: 300000 }, async () => {
  const clone = path.join(work, 'clone');
  fs.mkdirSync(clone);
  for (const file of ['dev', 'CMakeLists.txt']) fs.copyFileSync(path.join(root, file), path.join(clone, file));
  fs.copyFileSync(artefact(`${tarball}.tar.gz`), path.join(clone, `${tarball}.tar.gz`));
  const serve = async () => {
    const port = await freePort();
    const server = await startAndWait(path.join(clone, 'dev'), ['run', '--in-memory', '--port', String(port)], port);
    await firstSteps(server.endpoint);
    assert.match(server.output(), new RegExp(`runs .*${tarball}`));
    assert.equal(await stop(server), 0);
  };
  await serve();
  fs.rmSync(path.join(clone, `${tarball}.tar.gz`));
  fs.rmSync(path.join(clone, 'build'), { recursive: true });
  run('cp', '-a', unpackTarball(), path.join(clone, tarball));
  await serve();
  assert.deepEqual(fs.readdirSync(clone).sort(), ['CMakeLists.txt', 'dev', tarball].sort(), 'nothing was built');
});

test('the list of materials names each library of the tarball with its package and bytes', () => {
  const bill = JSON.parse(fs.readFileSync(artefact(`stator-${version}-linux-x64.cdx.json`), 'utf8'));
  assert.equal(bill.bomFormat, 'CycloneDX');
  const directory = unpackTarball();
  const digestOf = (file) => crypto.createHash('sha256').update(fs.readFileSync(path.join(directory, file))).digest('hex');
  assert.equal(bill.metadata.component.hashes[0].content, digestOf('bin/stator'));
  const libraries = Object.fromEntries(bill.components.filter((part) => part.hashes).map((part) => [part.name, part]));
  assert.deepEqual(Object.keys(libraries).sort(), fs.readdirSync(path.join(directory, 'lib', 'stator')).sort());
  const licences = fs.readdirSync(path.join(directory, 'share', 'stator', 'licences'));
  for (const [name, part] of Object.entries(libraries)) {
    assert.equal(part.hashes[0].content, digestOf(`lib/stator/${name}`), name);
    const [, debianPackage] = /^pkg:deb\/debian\/([^@]+)@/.exec(part.purl);
    assert.ok(licences.includes(`${decodeURIComponent(debianPackage)}.txt`), `the tarball has the licence of ${debianPackage}`);
  }
  for (const name of ['libabsl-dev', 'libcli11-dev', 'preact']) assert.ok(bill.components.some((part) => part.name === name), name);
});

test('a signature of the checksums is verified, and one of other checksums is refused', { timeout: 300000 }, () => {
  const home = path.join(work, 'gnupg');
  fs.mkdirSync(home, { mode: 0o700 });
  const env = { ...process.env, GNUPGHOME: home };
  const gpg = (...args) => spawnSync('gpg', ['--batch', ...args], { env, encoding: 'utf8' });
  assert.equal(gpg('--pinentry-mode', 'loopback', '--passphrase', '', '--quick-gen-key', 'release@stator.invalid', 'ed25519', 'sign', 'never').status, 0);
  const signed = path.join(work, 'signed');
  const binary = process.env.STATOR_BIN ?? path.join(root, 'build', 'release', 'stator');
  execFileSync(path.join(root, 'packaging', 'release'), ['--only', 'sbom', '--sign', 'release@stator.invalid', binary, signed], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const verify = () => gpg('--verify', path.join(signed, 'SHA256SUMS.asc'), path.join(signed, 'SHA256SUMS')).status;
  assert.equal(verify(), 0);
  fs.appendFileSync(path.join(signed, 'SHA256SUMS'), `${'0'.repeat(64)}  another\n`);
  assert.notEqual(verify(), 0);
  spawnSync('gpgconf', ['--kill', 'all'], { env });
});
