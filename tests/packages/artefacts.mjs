// Shared by the tests of artefacts: the files of a release, programs in a system of their own, servers.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
export const artefacts = process.env.STATOR_ARTEFACTS ?? path.join(root, 'build', 'artefacts');
export const version = /^project\(stator VERSION ([0-9.]+)/m.exec(fs.readFileSync(path.join(root, 'CMakeLists.txt'), 'utf8'))[1];
const kReadyMillis = 60000;

export const work = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-packages-'));
export const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });
export const artefact = (name) => {
  const file = path.join(artefacts, name);
  assert.ok(fs.existsSync(file), `${file} is missing: ./dev release makes it`);
  return file;
};

// Returns the arguments of `spawn` that run a command in a system, with its /proc, in `directory`, as `user` (ID:ID). The process id stays that of the first command.
export function within(system, command, { user = '0:0', before = '', directory = '/' } = {}) {
  const words = command.map((word) => `'${word}'`).join(' ');
  const [uid, gid] = user.split(':');
  return ['unshare', ['-m', 'sh', '-c', `${before} mount -t proc proc '${system}/proc' && exec unshare --root='${system}' --wd='${directory}' --setgid=${gid} --setuid=${uid} ${words}`]];
}
export const kBareEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };

export const started = [];
// Starts a program and waits until the port answers ready. Returns {endpoint, child, output()}.
export async function startAndWait(command, args, port, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  started.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => { output += text; });
  let code;
  child.once('exit', (status, signal) => { code = status ?? signal; });
  const end = Date.now() + kReadyMillis;
  while (Date.now() < end && code === undefined) {
    try {
      const reply = await fetch(`http://127.0.0.1:${port}/health/ready`);
      if (reply.status === 200) return { endpoint: `http://127.0.0.1:${port}`, child, output: () => output };
    } catch {
      // Not listening yet.
    }
    await delay(20);
  }
  assert.fail(`${command} ${args.join(' ')} was not ready (${code ?? 'still running'}):\n${output}`);
}
// Waits until the condition holds: what another process tells is read a little later.
export async function eventually(condition, what) {
  for (const end = Date.now() + kReadyMillis; !condition(); await delay(20)) assert.ok(Date.now() < end, what());
}
export async function stop({ child }) {
  const ended = new Promise((resolve) => { child.once('exit', (code, signal) => resolve(code ?? signal)); });
  child.kill('SIGTERM');
  return ended;
}

// Ends what was started and removes the files of this run.
export function cleanUp() {
  for (const child of started) child.kill('SIGKILL');
  fs.rmSync(work, { recursive: true, force: true });
}

// Returns the words with which the server refuses a pool that has no cluster.
export function refusedPool(system, ...binary) {
  const [command, args] = within(system, [...binary, 'serve', '--engine=rados', '--ceph-conf=/etc/hosts', '--pool=p']);
  const refused = spawnSync(command, args, { encoding: 'utf8', env: kBareEnvironment, timeout: 60000 });
  assert.equal(refused.status, 1, refused.stdout + refused.stderr);
  return refused.stdout + refused.stderr;
}
export const kLibradosAsked = /The Ceph configuration .* cannot be read/;

// Every library that the binary and the libraries beside it need lies beside it or is one that every Linux with a C++ program has,
// in a version of 2022 at the latest.
export function assertNeedsOnlyTheSystem(directory) {
  const beside = fs.readdirSync(path.join(directory, 'lib', 'stator'));
  const ofTheSystem = /^(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+$/;
  const newest = { GLIBC: [2, 35], GLIBCXX: [3, 4, 30] };
  const isNewer = (one, other) => {
    for (let i = 0; i < Math.max(one.length, other.length); ++i) {
      if ((one[i] ?? 0) !== (other[i] ?? 0)) return (one[i] ?? 0) > (other[i] ?? 0);
    }
    return false;
  };
  const files = [path.join(directory, 'bin', 'stator'), ...beside.map((name) => path.join(directory, 'lib', 'stator', name))];
  assert.ok(files.length > 10);
  for (const file of files) {
    const needed = [...run('readelf', '-d', file).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map((match) => match[1]);
    for (const name of needed) assert.ok(ofTheSystem.test(name) || beside.includes(name), `${file} needs ${name}`);
    for (const [, name, number] of run('readelf', '-VW', file).matchAll(/\b(GLIBCXX|GLIBC)_([0-9.]+)/g)) {
      assert.ok(!isNewer(number.split('.').map(Number), newest[name]), `${file} needs ${name}_${number}`);
    }
  }
}

// Unpacks an image. Returns its configuration and the root of its files.
export function unpackImage(name, architecture = 'amd64') {
  const layout = path.join(work, `${name}-${architecture}-layout`);
  fs.mkdirSync(layout, { recursive: true });
  run('tar', '-xf', artefact(`${name}-image-${version}-${architecture}.tar`), '-C', layout);
  const blob = (digest) => path.join(layout, 'blobs', ...digest.split(':'));
  const index = JSON.parse(fs.readFileSync(path.join(layout, 'index.json')));
  const manifest = JSON.parse(fs.readFileSync(blob(index.manifests[0].digest)));
  // Older versions of `docker load` read this instead.
  const [forDocker] = JSON.parse(fs.readFileSync(path.join(layout, 'manifest.json')));
  assert.deepEqual(forDocker.RepoTags, [`${name}:${version}`]);
  assert.deepEqual([forDocker.Config, ...forDocker.Layers].map((file) => path.join(layout, file)), [manifest.config, ...manifest.layers].map((part) => blob(part.digest)));
  const { config, ...image } = JSON.parse(fs.readFileSync(blob(manifest.config.digest)));
  const platform = { architecture, os: 'linux' };
  assert.deepEqual({ architecture: image.architecture, os: image.os }, platform);
  assert.deepEqual(index.manifests[0].platform, platform);
  const system = path.join(work, `${name}-${architecture}-image`);
  fs.rmSync(system, { recursive: true, force: true });
  fs.mkdirSync(system);
  for (const layer of manifest.layers) run('tar', '-xzf', blob(layer.digest), '-C', system);
  fs.mkdirSync(path.join(system, 'proc'), { recursive: true });
  return { config, system };
}
