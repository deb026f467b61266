// Management calls that are cheap to send and dear to answer: the process lives, says what is wrong, and answers others.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { isStator, request, Server } from '../sdk/harness.mjs';
import { Judge, residentBytes } from './judge.mjs';

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
  body: JSON.stringify({ scenario }), timeout: 240000,  // a few simulations of two seconds of a processor each, one after the other
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

// Scenarios that take all of the two seconds that one may take, and one whose first step would take gigabytes.
const traffic = (keys, rate) => `duration = "200h"\n[[table]]\nname = "t"\nread = 5\nwrite = 5\n[[traffic]]\nname = "w"\ntable = "t"\n` +
  `operation = "write"\nrate = ${rate}\nitem_bytes = "1KB"\nkeys = ${keys}\n`;
test('of many simulations few wait, the others are refused at once, and reports are answered', ours, async (context) => {
  judge.probeMillis = 20000;  // 40 clients and the simulation share the machine with the probe
  let others;
  const replies = await judge.watch(() => {
    const playing = Array.from({ length: 40 }, () => simulate(traffic('{ type = "uniform", count = 1000000 }', 90_000)));
    others = request(server.endpoint, { method: 'GET', path: '/_stator/pulse', headers: { 'X-Stator-Management': 'true' }, timeout: 240000 });
    return Promise.all(playing);
  });
  assert.equal((await others).status, 200);
  const refused = replies.filter(({ status }) => status === 503);
  context.diagnostic(`${refused.length} of ${replies.length} were refused`);
  assert.ok(refused.length > 0, 'all waited');
  for (const { text } of refused) assert.match(text, /Too many simulations wait/);
  for (const { status, text } of replies) assert.ok([200, 400, 503].includes(status), text.slice(0, 300));
});
test('an upload of millions of users in a step is refused', ours, async () => {
  const before = residentBytes(server);
  const reply = await judge.watch(() => simulate(traffic('{ type = "upload", users = 1000000000, items_per_user = 1 }', 9_000_000)));
  assert.equal(reply.status, 400, reply.text.slice(0, 300));
  assert.match(reply.text, /users in a step/);
  assert.ok(judge.verdict.peakBytes - before < 64 * 2 ** 20, `${judge.verdict.peakBytes - before} bytes`);
});
