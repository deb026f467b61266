// A server under test: started on its own core, watched through /proc, paused while another one is measured.
import { spawn, spawnSync, execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, openSync, closeSync, rmSync, mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';

const kTicksPerSecond = Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout) || 100;
export const kServerCore = '0';

function statFields(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' '); // from field 3, the state
}

// CPU time of a process since its start, in seconds.
export function cpuSeconds(pid) {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / kTicksPerSecond;
}

// Average load of the last minute.
export const load = () => readFileSync('/proc/loadavg', 'latin1').split(' ')[0];

// `root` and all processes below it.
function tree(root) {
  const children = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = Number(statFields(name)[1]);
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(Number(name));
    } catch { /* it ended while we looked */ }
  }
  const found = [root];
  for (let i = 0; i < found.length; i++) found.push(...(children.get(found[i]) ?? []));
  return found;
}

function statusKb(pid, field) {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8').match(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm'));
  return line ? Number(line[1]) : 0;
}

// Time that the server's core gave to processes (or lost to other machines on the host) since boot, in microseconds.
export function coreBusyUs() {
  const line = readFileSync('/proc/stat', 'utf8').match(new RegExp(`^cpu${kServerCore} (.*)$`, 'm'));
  const [user, nice, system, , , , , steal] = line[1].split(' ').map(Number);
  return ((user + nice + system + steal) * 1e6) / kTicksPerSecond;
}

// Resolves once something answers on the port, with the milliseconds that took; rejects after `limitMs`.
function firstReply(port, speak, startedAt, limitMs, alive) {
  return new Promise((resolve, reject) => {
    const attempt = () => {
      const socket = net.connect({ host: '127.0.0.1', port });
      socket.on('connect', () => socket.write(speak));
      socket.on('data', () => {
        socket.destroy();
        resolve(performance.now() - startedAt);
      });
      socket.on('error', () => {
        if (!alive()) reject(new Error('the server ended before it answered'));
        else if (performance.now() - startedAt > limitMs) reject(new Error(`no reply within ${limitMs} ms`));
        else setTimeout(attempt, 1);
      });
    };
    attempt();
  });
}

export class Server {
  // `command` is argv; `speak` sends a request over a fresh connection and checks the answer.
  constructor(name, command, { port, dir, cwd, speak = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', env = {} }) {
    Object.assign(this, { name, command, port, dir, cwd, speak, env });
  }

  async start() {
    mkdirSync(this.dir, { recursive: true });
    const log = openSync(`${this.dir}.log`, 'a');
    const startedAt = performance.now();
    this.child = spawn('taskset', ['-c', kServerCore, ...this.command], {
      cwd: this.cwd ?? this.dir, stdio: ['ignore', log, log], env: { ...process.env, ...this.env },
    });
    closeSync(log);
    this.child.on('error', () => {});
    this.firstReplyMs = await firstReply(this.port, this.speak, startedAt, 60000, () => this.alive());
    return this;
  }

  alive() { return this.child.exitCode === null && this.child.signalCode === null; }
  pids() { return tree(this.child.pid); }

  // CPU time of the whole process tree since it started, in microseconds (resolution: one tick, 10 ms as a rule).
  cpuUs() {
    let ticks = 0;
    for (const pid of this.pids()) {
      const fields = statFields(pid);
      ticks += Number(fields[11]) + Number(fields[12]);
    }
    return (ticks * 1e6) / kTicksPerSecond;
  }

  rssMb() { return this.pids().reduce((sum, pid) => sum + statusKb(pid, 'VmRSS'), 0) / 1024; }
  peakRssMb() { return this.pids().reduce((sum, pid) => sum + statusKb(pid, 'VmHWM'), 0) / 1024; }

  pause() { for (const pid of this.pids()) process.kill(pid, 'SIGSTOP'); }
  resume() { for (const pid of this.pids()) process.kill(pid, 'SIGCONT'); }

  // Calls that sync, made while `work` runs: {fsync: 3, ...}, or null where strace may not attach.
  async syncsDuring(work) {
    const out = `${this.dir}.strace`;
    rmSync(out, { force: true });
    const pids = this.pids().flatMap((pid) => ['-p', String(pid)]);
    const strace = spawn('strace', ['-f', '-c', '-U', 'calls,name', '-e', 'trace=fsync,fdatasync,msync,sync_file_range',
      '-o', out, ...pids], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    const attached = new Promise((resolve) => {
      strace.stderr.on('data', (data) => {
        said += data;
        if (/attached/.test(said)) resolve(true);
      });
      strace.on('exit', () => resolve(false));
    });
    if (!(await attached)) return null;
    await work();
    strace.kill('SIGINT');
    await once(strace, 'exit');
    const calls = {};
    let text = '';
    try { text = readFileSync(out, 'utf8'); } catch { /* nothing was called */ }
    for (const [, n, call] of text.matchAll(/^\s*(\d+)\s+(fsync|fdatasync|msync|sync_file_range)$/gm)) calls[call] = Number(n);
    return calls;
  }

  async stop() {
    if (!this.child || !this.alive()) return;
    this.resume();
    const ended = once(this.child, 'exit');
    const pids = this.pids();
    this.child.kill('SIGTERM');
    const late = setTimeout(() => pids.forEach((pid) => { try { process.kill(pid, 'SIGKILL'); } catch { /* gone */ } }), 20000);
    await ended;
    clearTimeout(late);
  }

  logTail() {
    try { return readFileSync(`${this.dir}.log`, 'utf8').split('\n').slice(-15).join('\n'); } catch { return ''; }
  }
}

export function run(command, args) {
  return new Promise((resolve, reject) => {
    execFile(command, args, { maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command} ${args.join(' ')}: ${error.message}\n${stderr}${stdout}`));
      else resolve(stdout);
    });
  });
}

export function writeText(path, text) { writeFileSync(path, text); }
