// Management calls with bodies that are cheap to send and nest deeply: the process lives, and says what is wrong.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { isStator, request, Server } from '../sdk/harness.mjs';
import { Judge } from './judge.mjs';

const ours = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : false };
let server;
let judge;
if (!ours.skip) {
  server = await Server.startOne({ args: ['--in-memory'] });
  judge = await Judge.of(server);
}
after(async () => {
  judge?.close();
  await server?.stop();
});

const simulate = (scenario) => request(server.endpoint, {
  method: 'POST', path: '/_stator/simulate', headers: { 'Content-Type': 'application/json', 'X-Stator-Management': 'true' },
  body: JSON.stringify({ scenario }), timeout: 30000,
});
for (const [name, scenario, message] of [
  ['a header of 130,900 tables', `[a${'.b'.repeat(130_900)}]\nx=1`, /more than 64 dots/],
  ['a key of 130,900 tables', `a${'.b'.repeat(130_900)} = 1`, /more than 64 dots/],
  ['120,000 arrays', `x = ${'['.repeat(120_000)}`, /maximum nested value depth/],
  ['a ruler of dots is no key', `# ${'.'.repeat(5000)}\n`, /there is no \[\[table\]\]/],
]) {
  test(name, ours, async () => {
    const reply = await judge.watch(() => simulate(scenario));
    assert.equal(reply.status, 400, reply.text.slice(0, 300));
    assert.match(reply.text, message);
  });
}
