// Heat and throttling: a hot key is found, explained and cured from the page.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { Console, heatVotes, until } from './harness.mjs';

let it;
let endLoad;
before(async () => {
  it = await Console.start();
  // Burst capacity of five minutes is gone soon.
  endLoad = await heatVotes(it.client, { bytes: 90_000, millis: 40 });
});
after(async () => {
  await endLoad?.();
  await it?.stop();
});
afterEach(() => it.closePages());

test('the hottest key is named, and why it was throttled', async () => {
  const page = await it.open('tables/votes/throttling');
  await page.getByRole('heading', { name: 'Writes beyond the provisioned capacity of the table' }).waitFor();
  await page.getByRole('link', { name: 'alice' }).waitFor();
  await page
    .getByRole('listitem')
    .filter({ hasText: /Raise the write capacity of the table to/ })
    .first()
    .waitFor();
  // The rate of now stands beside the peak, which is named as one.
  const limit = page.getByRole('region', { name: 'Writes beyond the provisioned capacity of the table' });
  await limit.getByText('Asked for now').waitFor();
  await limit.getByText(/^Busiest second, at \d\d:\d\d:\d\d UTC$/).waitFor();
  // It is that of whole seconds, of which there may be none yet.
  await until('what is asked for now is beyond the limit, and not beyond the peak', async () => {
    const { resources } = await it.manage('tables/votes/partitions');
    const [told] = resources[0].refused;
    return told.asked > told.limit && told.asked <= told.demand * 1.2;
  });
  // A partition has one name on all pages.
  const name = await limit.getByRole('link', { name: /^partition \d+$/ }).textContent();
  const overview = await it.open('overview');
  await overview.getByRole('link', { name: new RegExp(`^votes ${name}\\b`) }).waitFor();
});

test('overview shows the table as hot and the event', async () => {
  const page = await it.open('overview');
  await page.getByRole('heading', { name: 'Hottest partitions now' }).waitFor();
  await page.getByText(/requests were throttled( since \d\d:\d\d:\d\d UTC \(.*\))?: /).first().waitFor();
});

test('a selection on the map, by keyboard, tells its keys; the colour is there', async () => {
  const page = await it.open('tables/votes/heat');
  const map = page.getByRole('application', { name: /^votes: time to the right/ });
  await map.focus();
  for (let i = 0; i < 5; ++i) await page.keyboard.press('ArrowLeft');
  for (let i = 0; i < 4; ++i) await page.keyboard.press('Shift+ArrowLeft');
  const panel = page.getByRole('region', { name: /UTC$/ });
  await panel.waitFor();
  await panel.getByRole('link', { name: 'alice' }).waitFor();
  await panel.getByText('Writes beyond the provisioned capacity of the table.').waitFor();
  const colours = await map.evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 70, canvas.width, 1);
    const found = new Set();
    for (let i = 0; i < data.length; i += 4) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return found.size;
  });
  assert.ok(colours > 1, 'cold and hot cells differ');
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  // `n` goes to the hottest spot.
  await map.focus();
  await page.keyboard.press('n');
  await panel.getByText('alice').first().waitFor();
});

test('the place of a key is marked, a zoom stands in the address, and back leads out', async () => {
  const page = await it.open('tables/votes/heat');
  await page.getByRole('searchbox', { name: /Where is a value of candidate/ }).fill('alice');
  await page.keyboard.press('Enter');
  await page.getByText('lies at the blue line').waitFor();
  const map = page.getByRole('application', { name: /^votes/ });
  const box = await map.boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 150);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 200);
  await page.mouse.up();
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await page.waitForURL(/from=\d+&to=\d+/);
  await page.goBack();
  await page.waitForURL((url) => !url.hash.includes('from='));
});

test('the load is played again, a cure is tried until everything is served, and its capacity is handed on', async () => {
  const page = await it.open('tables/votes/heat');
  const map = page.getByRole('application', { name: /^votes: time to the right/ });
  await map.focus();
  for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowLeft');
  for (let i = 0; i < 12; ++i) await page.keyboard.press('Shift+ArrowLeft');
  await page.getByRole('region', { name: /UTC$/ }).getByRole('link', { name: 'Simulate a cure' }).click();
  await page.getByText('was asked for from').waitFor();
  await page.getByRole('heading', { name: /% of the requests are refused$/ }).waitFor();
  await page.getByRole('heading', { name: 'Traffic: writes of alice' }).waitFor();
  assert.equal(await page.getByLabel('Write units', { exact: true }).first().inputValue(), '5');
  // Large items that find their suffix at random may ask one partition for too much in a rare second.
  const served = page.getByRole('heading', { name: /^(Everything is served|[0-2]\.\d% of the requests are refused)$/ });
  for (let tries = 0; tries < 4 && !(await served.isVisible()); ++tries) {
    const cures = page.getByRole('heading', { name: /^Try a cure/ }).locator('..').getByRole('button');
    const played = page.waitForResponse(/_stator\/simulate$/);
    await cures.first().click();
    await played;
    // The outcome shown is that of the design shown.
    await page.locator('.design > [aria-busy=false]').waitFor();
  }
  await served.waitFor();
  const write = await page.getByLabel('Write units', { exact: true }).first().inputValue();
  assert.ok(Number(write) > 5, write);
  await page.getByRole('button', { name: 'Give votes this capacity…' }).click();
  assert.equal(await page.getByLabel('Write units per second').inputValue(), write);
  await page.getByRole('button', { name: 'Cancel' }).click();
  // With suffixes the units are not all: what they do alone stands there, and the code of the rest.
  await page.getByLabel('Suffixes of each').first().fill('16');
  await page.getByRole('button', { name: 'Give votes this capacity…' }).click();
  await page.getByRole('dialog').getByText(/^This alone serves \d/).waitFor();
  await page.getByRole('dialog').getByText(/const key = \{ "candidate": `alice\./).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  // A reload begins with what was asked for, not with the cure.
  await page.reload();
  await page.getByRole('heading', { name: /% of the requests are refused$/ }).waitFor();
});

test('capacity is raised from the panel, and the throttling ends', async () => {
  const page = await it.open('tables/votes/throttling');
  await page.getByRole('button', { name: 'Change capacity…' }).click();
  await page.getByLabel('Write units per second').fill('0');
  assert.ok(await page.getByRole('button', { name: 'Change capacity', exact: true }).isDisabled());
  await page.getByLabel('Write units per second').fill('4000');
  await page.getByRole('button', { name: 'Change capacity', exact: true }).click();
  await page.getByText('votes has 5 read and 4,000 write units').first().waitFor();
  const { Table } = await it.client.send(new DescribeTableCommand({ TableName: 'votes' }));
  assert.equal(Table.ProvisionedThroughput.WriteCapacityUnits, 4000);
  await page.getByText('ended', { exact: true }).first().waitFor({ timeout: 90_000 });
  // A limit that refuses no more stays open under who reads it, and is a line for who comes later.
  assert.ok(await page.getByText('Asked for now').first().isVisible());
  await page.reload();
  await page.getByText('ended', { exact: true }).first().waitFor();
  const over = page.locator('details.ended').first();
  assert.equal(await over.getByText('Asked for now').isVisible(), false);
  await over.locator('summary').press('Enter');
  await over.getByText('Asked for now').waitFor();
  // The storm is one event, and what was done about it stays beside it.
  const overview = await it.open('overview');
  await overview.getByText(/The table has 5 read and 4000 write units now/).waitFor();
  const { events } = await it.manage('events?brief=true&table=votes');
  const storm = events.filter((one) => one.kind === 'throttled').at(-1);
  assert.ok(storm.allRequests >= storm.requests && storm.since <= storm.at, JSON.stringify(storm));
  // Throttling is explained after it is over.
  const past = page.getByRole('region', { name: 'Earlier throttling' });
  await past.getByRole('row', { name: /alice/ }).first().waitFor();
});

test('the mode of one table is changed', async () => {
  const page = await it.open('tables/votes/throttling');
  await page.getByRole('radio', { name: 'Observe' }).check({ force: true });
  await page.getByText('counted and let pass').waitFor();
  const reply = await fetch(`${it.server.endpoint}/_stator/tables/votes/throttling`, {
    headers: { 'X-Stator-Management': 'true' },
  });
  assert.equal((await reply.json()).mode, 'observe');
});
