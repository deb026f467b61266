// Several servers of one store: what the page says of them. The report is made up, in the form that
// server/cluster_report writes: a pool is not at hand here.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { assertAccessible, Console } from './harness.mjs';

let it;
before(async () => {
  it = await Console.start();
});
after(() => it?.stop());
afterEach(() => it.closePages());

const now = () => new Date().toISOString();
const report = () => ({
  by: 'b2',
  at: now(),
  processes: [
    { id: 'a1', endpoint: '10.0.0.1:8000', version: '0.9.0', clock: 'system', state: 'alive', started: '2026-11-20T08:00:00Z', beat: 511, beatSecondsAgo: 0.6, leases: 1 },
    { id: 'b2', endpoint: '10.0.0.2:8000', version: '0.10.0', clock: 'system', state: 'alive', started: '2026-11-26T08:00:00Z', beat: 77, beatSecondsAgo: 0.2, leases: 2 },
    { id: 'c3', endpoint: '10.0.0.3:8000', version: '0.9.0', clock: 'system', state: 'dead', started: '2026-11-20T08:00:00Z', beat: 500, beatSecondsAgo: 94.1, leases: 0 },
  ],
  leases: { 'capacity': 'b2', 'work/1': 'b2', 'work/2': 'a1' },
  settings: { throttling: '{"mode":"observe"}' },
  tablets: [
    { tablet: 'items/3', purpose: 'items of music', parts: 4, keys: 180000, bytes: 150_000_000, unsureBytes: 100, unfinished: 0, oldestUnfinishedSeconds: 0 },
    { tablet: 'items/4', purpose: 'index by-year of music', parts: 1, keys: 900, bytes: 50_000, unsureBytes: 40_000, unfinished: 2, oldestUnfinishedSeconds: 12.5 },
    { tablet: 'items/5', purpose: 'items of <b>votes</b>', error: 'object part.5.0 cannot be read' },
  ],
  unfinished: 2,
  oldestUnfinishedSeconds: 12.5,
});

test('a server that has its store to itself lists no such page, and says so behind a link', async () => {
  const page = await it.open('overview');
  await page.getByRole('link', { name: 'Overview' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Cluster', exact: true }).count(), 0);
});

test('servers, their beats, tablets and unfinished work', async () => {
  const page = await it.open('overview', { settled: false });
  await page.route('**/_stator/console/boot', async (route) => {
    const reply = await route.fetch();
    const json = await reply.json();
    return route.fulfill({ json: { ...json, engine: 'rados', features: [...json.features, 'cluster'] } });
  });
  await page.route('**/_stator/cluster', (route) => route.fulfill({ json: report() }));
  await page.reload();
  await page.getByRole('link', { name: 'Cluster', exact: true }).click();
  await page.getByText('2 of 3 servers alive').waitFor();
  const servers = page.getByRole('table').first();
  await servers.getByRole('row', { name: /10\.0\.0\.2:8000 this one.* alive 0\.2 s ago/ }).waitFor();
  await servers.getByRole('row', { name: /10\.0\.0\.3:8000.* dead 94\.1 s ago/ }).waitFor();
  await page.getByText('The servers have different versions: 0.9.0, 0.10.0.').waitFor();
  await servers.getByRole('row', { name: /10\.0\.0\.1:8000.* 0\.9\.0 older/ }).waitFor();
  const tablets = page.getByRole('region', { name: /^Tablets/ });
  const rows = await tablets.getByRole('row').allInnerTexts();
  assert.match(rows[1] ?? rows.join('|'), /<b>votes<\/b>[^]*cannot be read/, 'what is broken comes first, as text');
  assert.match(rows[2], /by-year of music[^]*~900/);
  await page.getByText('shares, the oldest for 13 s').waitFor();
  await page.getByText('capacity, work/1').waitFor();
  await assertAccessible(page, 'cluster');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 320, height: 700 });
  await assertAccessible(page, 'cluster, dark, 320');
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
});
