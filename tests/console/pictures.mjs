// Takes the pictures of the documents: node pictures.mjs [folder] [names]. With another folder than
// docs/pictures it takes every page, in both themes and in a narrow window, to be looked at.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  BatchWriteItemCommand,
  CreateBackupCommand,
  CreateTableCommand,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateContinuousBackupsCommand,
} from '@aws-sdk/client-dynamodb';
import { Console, itemAddress, musicTable } from './harness.mjs';

const documents = fileURLToPath(new URL('../../docs/pictures', import.meta.url));
const folder = process.argv[2] ? path.resolve(process.argv[2]) : documents;
const only = process.argv[3]?.split(',');
fs.mkdirSync(folder, { recursive: true });

const it = await Console.start();
await it.client.send(new CreateTableCommand(musicTable));
await it.client.send(
  new CreateTableCommand({
    TableName: 'votes',
    ProvisionedThroughput: { ReadCapacityUnits: 2000, WriteCapacityUnits: 4000 },
    KeySchema: [{ AttributeName: 'candidate', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'candidate', AttributeType: 'S' }],
  }),
);
const artists = ['Nina Simone', 'John Coltrane', 'Ella Fitzgerald', 'Miles Davis', 'Billie Holiday', 'Max Roach'];
for (let from = 0; from < 200; from += 25)
  await it.client.send(
    new BatchWriteItemCommand({
      RequestItems: {
        music: Array.from({ length: 25 }, (_, j) => from + j).map((n) => ({
          PutRequest: {
            Item: {
              artist: { S: artists[n % 6] },
              song: { S: n % 6 === 0 && n === 0 ? 'Sinnerman' : `Take ${n}` },
              year: { N: String(1950 + (n % 25)) },
              plays: { N: String((n * 104729) % 100000) },
              tags: { SS: ['live', 'mono'] },
              credits: { M: { label: { S: 'Philips' }, takes: { L: [{ N: '1' }, { N: '2' }] } } },
            },
          },
        })),
      },
    }),
  );

await it.client.send(
  new UpdateContinuousBackupsCommand({ TableName: 'music', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }),
);
// Something to take back: five songs are deleted and one is changed; one of them is put again later.
const tick = () => delay(5);
const key = (n) => ({ artist: { S: artists[n % 6] }, song: { S: `Take ${n}` } });
await tick();
const tidied = [Date.now()];
await tick();
for (const n of [7, 10, 13, 16, 19]) await it.client.send(new DeleteItemCommand({ TableName: 'music', Key: key(n) }));
await it.client.send(new PutItemCommand({ TableName: 'music', Item: { ...key(20), year: { N: '1970' }, plays: { N: '12' } } }));
await tick();
tidied.push(Date.now());
await tick();
await it.client.send(new PutItemCommand({ TableName: 'music', Item: { ...key(7), year: { N: '1957' } } }));
await it.client.send(new CreateBackupCommand({ TableName: 'music', BackupName: 'before-the-import' }));
await it.manage('recording', { method: 'PUT' });

// Most of the votes are for one candidate, and more than its partition can take.
let ended = false;
// By the clock, and without catching up: a busy machine has about the same pictures.
const vote = async (bytes, candidate) => {
  const began = Date.now();
  const underWay = new Set();
  while (!ended) {
    const Item = { candidate: { S: candidate() }, text: { S: 'x'.repeat(bytes) } };
    if (underWay.size < 20) {
      const sent = it.client.send(new PutItemCommand({ TableName: 'votes', Item })).catch(() => {}).finally(() => underWay.delete(sent));
      underWay.add(sent);
    }
    await delay(25 - ((Date.now() - began) % 25));
  }
  await Promise.all(underWay);
};
const anyone = () => `candidate ${Math.floor(Math.random() * 500)}`;
const load = [
  vote(40_000, () => 'alice'),
  vote(8000, anyone),
  vote(8000, anyone),
  (async () => {
    while (!ended) {
      await it.client.send(new GetItemCommand({ TableName: 'music', Key: { artist: { S: 'Nina Simone' }, song: { S: 'Sinnerman' } } }));
      await delay(150);
    }
  })(),
];
await delay(folder === documents ? 100_000 : 25_000);

// The 30 seconds in which votes was asked for most.
const busiest = async () => {
  const { resources } = await it.manage('tables/votes/heat?last=3m&step=1s');
  const [{ from, columns, consumed, refused }] = resources;
  const asked = Array.from({ length: columns }, (_, i) => consumed.write[i] + refused.write[i]);
  const of = (begin) => asked.slice(begin, begin + 30).reduce((sum, one) => sum + one, 0);
  const begins = asked.map((_, i) => i).slice(0, -30).sort((a, b) => of(b) - of(a));
  const seconds = Math.floor(Date.parse(from) / 1000) + begins[0];
  return `design?of=votes&from=${seconds}&to=${seconds + 30}`;
};
const selected = async (page) => {
  const map = page.getByRole('application', { name: /^votes/ });
  await map.focus();
  for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowLeft');
  for (let i = 0; i < 25; ++i) await page.keyboard.press('Shift+ArrowLeft');
  await page.getByRole('region', { name: /UTC$/ }).waitFor();
};
const tried = async (page) => {
  await page.getByRole('button', { name: 'Try the undo' }).click();
  await page.getByText('dry run', { exact: true }).waitFor();
  await page.evaluate(() => scrollTo(0, 0));
};
const then = (millis) => encodeURIComponent(new Date(millis).toISOString());
const pages = [
  ['overview', 'overview'],
  ['tables', 'tables'],
  ['items', 'tables/music/items'],
  ['collections', 'tables/music/items?view=collections'],
  ['item', itemAddress('music', 'S:Nina Simone', 'S:Sinnerman')],
  ['heat', 'tables/votes/heat', selected],
  ['throttling', 'tables/votes/throttling'],
  ['capacity', 'tables/votes/capacity'],
  ['indexes', 'tables/music/indexes'],
  ['streams', 'tables/music/streams'],
  ['requests', 'requests'],
  ['advice', 'advice'],
  ['metrics', 'metrics?last=1h'],
  ['backups', 'backups'],
  ['recovery', 'tables/music/backups'],
  ['as-of', `tables/music/items?asof=${then(tidied[0])}`],
  ['history', `${itemAddress('music', 'S:John Coltrane', 'S:Take 7')}&panel=history`],
  ['time', `tables/music/time?from=${then(tidied[0])}&to=${then(tidied[1])}`, tried],
  ['partiql', 'partiql?q=SELECT%20*%20FROM%20music%20WHERE%20artist%20%3D%20%3F'],
  ['simulated', busiest],
  ['faults', 'faults'],
  ['create', 'tables/new'],
  ['settings', 'settings'],
];
const kDocumented = ['overview', 'item', 'heat', 'simulated', 'time'];
const looks =
  folder === documents
    ? [['light', 1280, 800]]
    : [
        ['light', 1440, 900],
        ['dark', 1440, 900],
        ['light', 390, 844],
      ];
for (const [name, address, act] of pages) {
  if (only ? !only.includes(name) : folder === documents && !kDocumented.includes(name)) continue;
  for (const [theme, width, height] of looks) {
    const page = await it.open(typeof address === 'function' ? await address() : address, { theme, width, height });
    await delay(2500);
    await act?.(page);
    const file = folder === documents ? `console-${name}.png` : `${name}-${theme}-${width}.png`;
    await page.screenshot({ path: path.join(folder, file), fullPage: width === 390 || act !== undefined });
    await page.context().close();
    it.pages = [];
  }
}
ended = true;
await Promise.all(load);
await it.stop();
