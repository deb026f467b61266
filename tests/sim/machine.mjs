// One server on one data directory that is killed and restarted while clients use it, and the clock
// of the histories. Each start chooses a durability: a killed server loses nothing with either.
//
// Times are ticks of one counter in this process: an answer that came before a request was sent has
// the lower tick.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { Random } from '../diff/generate/random.mjs';
import { Server, call, request } from '../sdk/harness.mjs';
import { WorkloadClient } from './workload_client.mjs';

export class Machine extends WorkloadClient {
  /** `name` and `seed` seed all choices; `clients` is the number of connections. */
  constructor({ name, seed, clients, args = [] }) {
    super();
    Object.assign(this, { name, seed, clients, args });
    this.random = new Random(`${name}.${seed}`);
    this.ticks = 0;
    this.death = { tick: undefined }; // of the running server: the tick at which it was gone
    this.counts = { answered: 0, unanswered: 0, kills: 0, stops: 0 };
  }

  now() {
    return ++this.ticks;
  }

  /**
   * A source of choices of its own, so that one client's choices do not depend on how fast the
   * others are.
   */
  randomOf(...parts) {
    return new Random(`${this.name}.${this.seed}.${parts.join('.')}`);
  }

  async start() {
    this.dataDir ??= fs.mkdtempSync(path.join(os.tmpdir(), `stator-sim-${this.name}-`));
    this.server = await Server.start(this.options());
    this.agent = new http.Agent({ keepAlive: true, maxSockets: this.clients });
    this.death = { tick: undefined };
    this.doomed = false; // a kill is scheduled
    this.leaving = false; // the kill or SIGTERM has been sent
  }

  options() {
    return {
      dataDir: this.dataDir,
      args: [`--durability=${this.random.pick(['os', 'fsync'])}`, ...this.args],
    };
  }

  /**
   * Sends an operation. Resolves to {call, return, status, body, death}. Without an answer `status`
   * is 0, `return` undefined, and `death` tells, once the server is gone, until when the operation
   * may have taken effect: a dead server does nothing.
   */
  async send(operation, body, headers = {}) {
    const record = {
      call: this.now(),
      return: undefined,
      status: 0,
      body: undefined,
      death: this.death,
    };
    const server = this.server;
    try {
      const reply = await call(server.endpoint, operation, body, {
        agent: this.agent,
        headers,
      });
      if (reply.status < 500) {
        record.status = reply.status;
        record.body = reply.json();
        record.return = this.now();
        this.counts.answered++;
        return record;
      }
      if (!this.leaving) this.fail(new Error(`${operation}: ${reply.status} ${reply.text}`));
    } catch (error) {
      if ((!this.leaving && !this.doomed) || /no answer within/.test(error.message)) {
        await delay(100); // an exit is noticed a little later than its closed connections
        const { exitCode, signalCode } = server.child;
        this.fail(
          new Error(
            `${operation} was not answered: ${error.message}; ` +
              `the server ${exitCode ?? signalCode ?? 'runs on'}`,
          ),
        );
      }
    }
    this.counts.unanswered++;
    return record;
  }

  /** A management call; resolves to its status, 0 without an answer. */
  async manage(path, body = {}) {
    try {
      const headers = { 'X-Stator-Management': 'true' };
      const { endpoint } = this.server;
      const sent = { path: `/_stator/${path}`, headers, body: JSON.stringify(body) };
      return (await request(endpoint, { ...sent, agent: this.agent })).status;
    } catch (error) {
      if (!this.leaving && !this.doomed) this.fail(error);
      return 0;
    }
  }

  /** Ends the server with SIGTERM. Afterwards every unanswered operation's `death.tick` is set. */
  async stop() {
    this.leaving = true;
    this.counts.stops++;
    const { code, signal } = await this.server.stop();
    if (code !== 0) this.fail(new Error(`SIGTERM ended the server with ${signal ?? code}`));
    this.gone();
  }

  /**
   * The same with SIGKILL, in `millis`. Another process sends it: from this one it would always
   * come when this one has time, which is when the server has just answered everything.
   */
  async kill(millis) {
    this.doomed = true;
    this.counts.kills++;
    spawn('/bin/sh', ['-c', `sleep ${millis / 1000}; kill -9 ${this.server.child.pid}`], {
      stdio: 'ignore',
    });
    this.server.child.ref();
    const { code, signal } = await this.server.exited;
    if (signal !== 'SIGKILL')
      this.fail(new Error(`the server ended by itself: ${signal ?? code}\n${this.server.output}`));
    this.gone();
  }

  gone() {
    this.leaving = true;
    this.death.tick = this.now();
    this.agent.destroy();
  }

  /**
   * Until `seconds` are over: lets `work(client, random, round)` run for every client for a while,
   * ends the server, mostly with SIGKILL, waits for the clients, starts it again and calls
   * `between(round)`. `work` loops while `going()` and returns when it was not answered.
   */
  async rounds(seconds, { work, between = async () => {} }) {
    const end = Date.now() + seconds * 1000;
    for (let round = 1; Date.now() < end && !this.trouble; round++) {
      this.round = round;
      const load = Array.from({ length: this.clients }, (_, client) =>
        work(client, this.randomOf(round, client), round).catch((error) => this.fail(error)),
      );
      const all = Promise.all(load);
      const millis = this.random.between(150, 700);
      if (this.random.chance(0.15)) {
        await Promise.race([delay(millis), all]);
        await this.stop();
      } else {
        await this.kill(millis);
      }
      await all;
      if (this.trouble) break;
      if (this.random.chance(0.2)) await this.killStarting(this.random.between(0, 60));
      await this.start();
      await between(round);
    }
    if (this.trouble) throw this.trouble;
  }

  going() {
    return !this.leaving && !this.trouble;
  }

  /** A start that is killed while the store is being opened. */
  async killStarting(millis) {
    const doomed = await Server.start({
      ...this.options(),
      spawned: (child) => setTimeout(() => child.kill('SIGKILL'), millis),
    }).catch(() => undefined);
    await doomed?.kill();
    this.counts.kills++;
  }

  /** The end of a run that went well. */
  async close() {
    await this.stop();
    if (this.trouble) throw this.trouble;
    fs.rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** The end of one that did not: the data directory stays. */
  async abandon() {
    this.leaving = true;
    await this.server?.kill().catch(() => {});
    this.agent?.destroy();
  }
}
