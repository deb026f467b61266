// For tests of Kafka targets: brokers in a process of their own (tests/kafka/brokers.cc).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const kProgram = process.env.STATOR_BIN ? path.join(path.dirname(process.env.STATOR_BIN), 'kafka_brokers') : '';
export const hasBrokers = kProgram !== '' && fs.existsSync(kProgram);

export class Brokers {
  static async start() {
    const brokers = new Brokers();
    brokers.process = spawn(kProgram, { stdio: ['pipe', 'pipe', 'inherit'] });
    brokers.lines = readline.createInterface({ input: brokers.process.stdout })[Symbol.asyncIterator]();
    brokers.address = (await brokers.lines.next()).value;
    brokers.turn = Promise.resolve();
    return brokers;
  }
  // One command at a time.
  command(text) {
    const turn = this.turn.then(async () => {
      this.process.stdin.write(`${text}\n`);
      const answer = JSON.parse((await this.lines.next()).value);
      if (answer.error !== undefined) throw new Error(`${text}: ${answer.error}`);
      return answer;
    });
    this.turn = turn.catch(() => undefined);
    return turn;
  }
  create(topic, partitions = 1) {
    return this.command(`topic ${topic} ${partitions}`);
  }
  // All messages, partition by partition: {partition, key, value}, both parsed.
  async read(topic, partitions = 1) {
    const { messages } = await this.command(`read ${topic} ${partitions}`);
    return messages.sort((a, b) => a.partition - b.partition)  // stable
      .map(({ partition, key, value }) => ({ partition, key: key.startsWith('{') ? JSON.parse(key) : key, value: JSON.parse(value) }));
  }
  async stop() {
    if (this.process.exitCode !== null) return;
    this.process.stdin.end();
    await once(this.process, 'exit');
  }
}
