// The artefacts for arm64, which run in the emulator of user programs, qemu-aarch64-static, called directly: this machine has
// another processor. Without STATOR_PACKAGES_ARCH=all only what can be said without building them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';

import {
  CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand,
} from '../sdk/node_modules/@aws-sdk/client-dynamodb/dist-cjs/index.js';
import { freePort } from '../sdk/harness.mjs';
import {
  artefact, artefacts, assertNeedsOnlyTheSystem, cleanUp, kLibradosAsked, refusedPool, root, run, startAndWait, stop,
  unpackImage, version, within, work,
} from './artefacts.mjs';

const emulator = '/usr/bin/qemu-aarch64-static';
const sysroot = path.join(root, 'build', 'sysroot-arm64');
const made = process.env.STATOR_PACKAGES_ARCH === 'all';
const emulated = { skip: !made && 'only with the artefacts for arm64', timeout: 600000 };
const tarball = `stator-${version}-linux-arm64`;
const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };
const saysArm64 = new RegExp(`^stator ${version.replaceAll('.', '\\.')} [(][0-9a-f]+(-dirty)?, arm64, GCC `);

after(cleanUp);

function unpackTarball() {
  if (!fs.existsSync(path.join(work, tarball))) run('tar', '-xzf', artefact(`${tarball}.tar.gz`), '-C', work);
  return path.join(work, tarball);
}
const binaryOf = (directory) => path.join(directory, 'bin', 'stator');

// A program that runs a binary for arm64 with the libraries of a system as it would run there.
function wrapped(binary) {
  const file = path.join(fs.mkdtempSync(path.join(work, 'wrapped-')), 'stator');
  fs.writeFileSync(file, `#!/bin/sh\nexec ${emulator} -L '${sysroot}' '${binary}' "$@"\n`, { mode: 0o755 });
  return file;
}

function withClient(endpoint, use) {
  const client = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  return use((command) => client.send(command)).finally(() => client.destroy());
}
const kItems = Array.from({ length: 20 }, (_, i) => ({ Artist: { S: 'Åse \u{1F3B8}' }, Song: { N: String(i - 10) }, Chart9: { N: String(i - 10) }, Bytes: { B: Uint8Array.of(0, 127, 128, 255) } }));
// Makes a table and items. The keys have numbers of both signs and letters beyond ASCII: their order is that of the key's bytes.
const fill = (endpoint) => withClient(endpoint, async (send) => {
  await send(new CreateTableCommand({
    TableName: 'Music', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'Artist', KeyType: 'HASH' }, { AttributeName: 'Song', KeyType: 'RANGE' }],
    AttributeDefinitions: [{ AttributeName: 'Artist', AttributeType: 'S' }, { AttributeName: 'Song', AttributeType: 'N' }],
  }));
  for (const Item of kItems.toReversed()) await send(new PutItemCommand({ TableName: 'Music', Item }));
});
const assertFilled = (endpoint) => withClient(endpoint, async (send) => {
  const { Artist, Song } = kItems[3];
  assert.deepEqual((await send(new GetItemCommand({ TableName: 'Music', Key: { Artist, Song }, ConsistentRead: true }))).Item, kItems[3]);
  const page = await send(new QueryCommand({
    TableName: 'Music', ConsistentRead: true, KeyConditionExpression: 'Artist = :a AND Song BETWEEN :from AND :to', FilterExpression: 'Chart9 <> :not',
    ExpressionAttributeValues: { ':a': Artist, ':from': { N: '-3' }, ':to': { N: '5' }, ':not': { N: '0' } },
  }));
  assert.deepEqual(page.Items, kItems.slice(7, 16).filter((item) => item.Song.N !== '0'));
});

// The files of a folder that are programs or libraries, with the processor that their heads name.
function machinesOf(directory) {
  const machines = {};
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    const bytes = fs.readFileSync(file).subarray(0, 20);
    if (bytes.toString('latin1', 0, 4) === '\x7fELF') machines[path.relative(directory, file)] = bytes.readUInt16LE(18);
  }
  return machines;
}
function assertArm64(directory, least) {
  const machines = machinesOf(directory);
  assert.ok(Object.keys(machines).length >= least, Object.keys(machines).join(' '));
  for (const [file, machine] of Object.entries(machines)) assert.equal(machine, 183, `${file} is for arm64`);  // EM_AARCH64
}

test('the scripts and the settings of the build for arm64 can be read', () => {
  for (const script of ['dev', 'packaging/release', 'packaging/sysroot']) run('bash', '-n', path.join(root, script));
  run('cmake', '-P', path.join(root, 'cmake', 'arm64.cmake'));
  assert.match(run('cmake', '-S', root, '--list-presets'), /"release-arm64"/);
  const refused = spawnSync(path.join(root, 'packaging', 'release'), ['--arch', 'riscv64', '/bin/true', path.join(work, 'none')], { encoding: 'utf8' });
  assert.deepEqual([refused.status, refused.stderr], [2, 'release: nothing is known of the architecture riscv64\n']);
});

test('the npm package names a package of the binary for each processor', () => {
  const directory = path.join(work, 'npm-main');
  fs.mkdirSync(directory);
  run('tar', '-xzf', artefact(`stator-local-${version}.tgz`), '-C', directory);
  const { optionalDependencies } = JSON.parse(fs.readFileSync(path.join(directory, 'package', 'package.json'), 'utf8'));
  assert.deepEqual(optionalDependencies, { 'stator-local-linux-arm64': version, 'stator-local-linux-x64': version });
});

test('everything in the artefacts for arm64 is for arm64, and needs no more than what is for x86-64', emulated, () => {
  const directory = unpackTarball();
  assertArm64(directory, 10);
  assertNeedsOnlyTheSystem(directory);
  assert.ok(fs.statSync(artefact(`${tarball}.tar.gz`)).size < 15e6);
  const unpackDebian = (architecture) => {
    const to = path.join(work, `deb-${architecture}`);
    run('dpkg-deb', '-x', artefact(`stator_${version}_${architecture}.deb`), to);
    return to;
  };
  const debian = unpackDebian('arm64');
  assertArm64(debian, 1);
  const filesOf = (folder) => fs.readdirSync(folder, { recursive: true }).sort();
  assert.deepEqual(filesOf(debian), filesOf(unpackDebian('amd64')));
  const field = (architecture, name) => run('dpkg-deb', '-f', artefact(`stator_${version}_${architecture}.deb`), name).trim();
  assert.equal(field('arm64', 'Architecture'), 'arm64');
  const packagesOf = (architecture) => field(architecture, 'Depends').split(', ').map((one) => one.split(' ')[0]);
  assert.deepEqual(packagesOf('arm64'), packagesOf('amd64'));
  for (const name of ['stator', 'stator-cluster']) {
    assertArm64(unpackImage(name, 'arm64').system, 10);
    assert.ok(fs.statSync(artefact(`${name}-image-${version}-arm64.tar`)).size < 30e6);
  }
});

test('the binary of the tarball says its processor, serves in memory, and keeps data over kill -9', emulated, async (t) => {
  const binary = binaryOf(unpackTarball());
  assert.match(run(emulator, '-L', sysroot, binary, '--version'), saysArm64);
  const serve = async (...store) => {
    const port = await freePort();
    const begun = performance.now();
    const server = await startAndWait(emulator, ['-L', sysroot, binary, 'serve', '--port', String(port), ...store], port);
    t.diagnostic(`ready after ${Math.round(performance.now() - begun)} ms: ${store.join(' ')}`);
    return server;
  };
  const inMemory = await serve('--in-memory');
  await fill(inMemory.endpoint);
  await assertFilled(inMemory.endpoint);
  assert.equal(await stop(inMemory), 0, inMemory.output());

  const data = path.join(work, 'data');
  const first = await serve('--data-dir', data);
  await fill(first.endpoint);
  await assertFilled(first.endpoint);
  const killed = new Promise((resolve) => { first.child.once('exit', resolve); });
  first.child.kill('SIGKILL');
  await killed;
  const second = await serve('--data-dir', data);
  await assertFilled(second.endpoint);
  assert.equal(await stop(second), 0, second.output());

  // The binary for x86-64 reads and writes the same store.
  const port = await freePort();
  const native = await startAndWait(process.env.STATOR_BIN ?? path.join(root, 'build', 'release', 'stator'), ['serve', '--port', String(port), '--data-dir', data], port);
  await assertFilled(native.endpoint);
  await withClient(native.endpoint, (send) => send(new PutItemCommand({ TableName: 'Music', Item: { Artist: { S: 'x86' }, Song: { N: '1' } } })));
  assert.equal(await stop(native), 0, native.output());
  const third = await serve('--data-dir', data);
  await assertFilled(third.endpoint);
  const got = await withClient(third.endpoint, (send) => send(new GetItemCommand({ TableName: 'Music', Key: { Artist: { S: 'x86' }, Song: { N: '1' } } })));
  assert.equal(got.Item.Artist.S, 'x86');
  assert.equal(await stop(third), 0, third.output());
});

test('the images for arm64 serve as they are configured, with nothing but their own files', emulated, async (t) => {
  for (const name of ['stator', 'stator-cluster']) {
    const { config, system } = unpackImage(name, 'arm64');
    fs.copyFileSync(emulator, path.join(system, 'emulator'));
    const declared = Object.fromEntries(config.Env.map((entry) => entry.split(/=(.*)/s).slice(0, 2)));
    const port = await freePort();
    const begun = performance.now();
    const server = await startAndWait(...within(system, ['/emulator', ...config.Entrypoint, 'serve'], { user: config.User, directory: config.WorkingDir }), port,
      { env: { ...declared, STATOR_PORT: String(port), STATOR_DATA_DIR: '/data/store', PATH: process.env.PATH } });
    t.diagnostic(`${name} was ready after ${Math.round(performance.now() - begun)} ms`);
    await fill(server.endpoint);
    await assertFilled(server.endpoint);
    const healthy = spawnSync('chroot', [system, '/emulator', '/usr/bin/stator', 'healthcheck', '--port', String(port)], { encoding: 'utf8' });
    assert.deepEqual([healthy.status, healthy.stdout], [0, 'ready\n'], healthy.stderr);
    assert.equal(await stop(server), 0, server.output());
    if (name === 'stator-cluster') {
      fs.writeFileSync(path.join(system, 'etc', 'hosts'), '127.0.0.1 localhost\n');  // as a container gets it
      assert.match(refusedPool(system, '/emulator', '/usr/bin/stator'), kLibradosAsked);
    }
  }
});

test('npm installs the package of the processor, and stator-local starts its binary', emulated, () => {
  const folder = path.join(work, 'npm');
  fs.mkdirSync(folder);
  const file = (name) => ({ [name]: `file:${artefact(`${name}-${version}.tgz`)}` });
  const optionalDependencies = { ...file('stator-local-linux-arm64'), ...file('stator-local-linux-x64') };
  fs.writeFileSync(path.join(folder, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module', dependencies: file('stator-local'), optionalDependencies }));
  for (const [processor, options] of [['x64', []], ['arm64', ['--os=linux', '--cpu=arm64']]]) {
    fs.rmSync(path.join(folder, 'node_modules'), { recursive: true, force: true });
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--offline', ...options], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const installed = fs.readdirSync(path.join(folder, 'node_modules')).filter((name) => name.startsWith('stator'));
    assert.deepEqual(installed.sort(), ['stator-local', `stator-local-linux-${processor}`]);
  }
  const binary = path.join(folder, 'node_modules', 'stator-local-linux-arm64', 'bin', 'stator');
  fs.writeFileSync(path.join(folder, 'user.mjs'), `
    import { start } from 'stator-local';
    const server = await start({ readyMillis: 60000 });
    console.log((await fetch(server.endpoint + '/health/ready')).status);
    await server.stop();
  `);
  assert.equal(execFileSync('node', ['user.mjs'], { cwd: folder, env: { ...process.env, STATOR_BIN: wrapped(binary) }, encoding: 'utf8' }), '200\n');
  // Where Node.js runs on arm64 the path is that of the package.
  const look = "Object.defineProperty(process, 'arch', { value: 'arm64' }); const { binaryPath } = await import('stator-local'); console.log(binaryPath());";
  const env = { ...process.env };
  delete env.STATOR_BIN;
  assert.equal(execFileSync('node', ['--input-type=module', '-e', look], { cwd: folder, env, encoding: 'utf8' }).trim(), fs.realpathSync(binary));
});

test('the binary for arm64 opens the stores of earlier releases', { ...emulated, timeout: 1800000 }, () => {
  const env = { ...process.env, STATOR_BIN: wrapped(binaryOf(unpackTarball())) };
  delete env.NODE_TEST_CONTEXT;  // a test runner within a test runner
  const result = spawnSync('node', ['--test', '--test-reporter=tap', 'upgrade.test.mjs'], { cwd: path.join(root, 'tests', 'upgrade'), env, encoding: 'utf8' });
  assert.equal(result.status, 0, result.stdout + result.stderr);
  assert.match(result.stdout, /^# pass [1-9]/m);
});

test('a second packaging for arm64 makes the same bytes', emulated, () => {
  const again = path.join(work, 'again');
  execFileSync(path.join(root, 'packaging', 'release'), ['--arch', 'arm64', path.join(root, 'build', 'release-arm64', 'stator'), again],
    { stdio: ['ignore', 'pipe', 'pipe'] });
  const first = fs.readFileSync(path.join(artefacts, 'SHA256SUMS'), 'utf8').split('\n');
  const second = fs.readFileSync(path.join(again, 'SHA256SUMS'), 'utf8').trim().split('\n');
  assert.equal(second.filter((line) => line.includes('arm64')).length, 6);
  for (const line of second) assert.ok(first.includes(line), line);
});
