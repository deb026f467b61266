// Makes the recordings of this directory: `node examples/advise/make.mjs`. Each shows one pattern of Amazon's guidance, as
// small as it can be seen. A recording of your own comes from `stator serve --record FILE`; its format is in docs/advise.md.
import { writeFileSync } from 'node:fs';

const kStart = Date.UTC(2026, 10, 19) * 1000;  // microseconds
const kSecond = 1_000_000;

// A generator with a seed: the same file on every machine.
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function write(name, tables, requests) {
  requests.sort((a, b) => a.t - b.t);
  const first = requests[0].t, last = requests.at(-1).t;
  const lines = [
    { stator_request_log: 1, at: first, keys: 'plain' },
    ...tables.map((table) => ({ ...table, at: first })),
    ...requests,
    ...tables.map((table) => ({ ...table, at: last })),
    { end: 'stopped', at: last },
  ];
  writeFileSync(new URL(`${name}.log`, import.meta.url), lines.map((line) => JSON.stringify(line) + '\n').join(''));
}

const provisioned = (read, write) => ({ billing: 'provisioned', read, write });
const sizes = (bytes, items) => ({ bytes, items });

// Two candidates, and one of them gets most votes: 1,300 in the busiest second, where a partition serves 1,000.
{
  const requests = [];
  const draw = random(1);
  for (let second = 0; second < 10; ++second) {
    const votes = second === 5 ? 1300 : 20;
    for (let i = 0; i < votes; ++i) {
      requests.push({
        t: kStart + second * kSecond + Math.floor((i / votes) * kSecond), op: 'UpdateItem', tb: 'Votes',
        pk: draw() < 0.9 ? 'S:Candidate A' : 'S:Candidate B', b: 60, a: 40, w: 1,
      });
    }
  }
  write('hot-vote-counter', [{ table: 'Votes', pk: ['Candidate:S'], billing: 'on-demand', ...sizes(120, 2) }], requests);
}

// Events by day: all writes of a day go to one key, and tomorrow to the next.
{
  const requests = [];
  for (let hour = 0; hour < 4 * 24; ++hour) {
    for (let i = 0; i < 10; ++i) {
      const t = kStart + (hour * 3600 + i * 7) * kSecond;
      const text = new Date(t / 1000).toISOString();
      requests.push({ t, op: 'PutItem', tb: 'Events', pk: `S:${text.slice(0, 10)}`, sk: `S:${text}#${i}`, b: 300, w: 1 });
    }
  }
  write('date-key', [{ table: 'Events', pk: ['Day:S'], sk: ['Event:S'], ...provisioned(5, 5), ...sizes(288000, 960) }], requests);
}

// Open orders are found by scanning all orders.
{
  const requests = [];
  for (let i = 0; i < 30; ++i) {
    requests.push({
      t: kStart + i * 180 * kSecond, op: 'Scan', tb: 'Orders', b: 900000, a: 3000, r: 110, s: 3000, n: 10, f: ['status'],
    });
    for (let j = 0; j < 4; ++j) {
      const order = `S:order-${i * 4 + j}`;
      requests.push({ t: kStart + (i * 180 + j) * kSecond, op: 'PutItem', tb: 'Orders', pk: order, b: 300, w: 1 });
    }
  }
  write('scan-for-few', [{ table: 'Orders', pk: ['OrderId:S'], ...provisioned(8, 5), ...sizes(900000, 3000) }], requests);
}

// Product pages of 20 KB: most reads want name and price, and every view counts itself in the same item.
{
  const requests = [];
  const draw = random(2);
  for (let i = 0; i < 300; ++i) {
    const product = `S:product-${Math.floor(draw() * 200)}`;
    const t = kStart + i * 15 * kSecond;
    requests.push({ t, op: 'GetItem', tb: 'Products', pk: product, b: 20480, a: 70, r: 2.5, at: ['name', 'price'] });
    requests.push({ t: t + 1000, op: 'UpdateItem', tb: 'Products', pk: product, b: 20480, a: 30, w: 20 });
  }
  write('vertical-partitioning', [{ table: 'Products', pk: ['ProductId:S'], ...provisioned(10, 30), ...sizes(4096000, 200) }], requests);
}

// One index that is never read, and one that holds whole items where two attributes are asked for.
{
  const requests = [];
  const draw = random(3);
  for (let i = 0; i < 200; ++i) {
    const t = kStart + i * 20 * kSecond;
    const user = Math.floor(draw() * 150);
    requests.push({
      t, op: 'PutItem', tb: 'Users', pk: `S:user-${user}`, b: 1500, w: 2,
      iw: [['by-city', 2, `S:city-${user % 40}`], ['by-phone', 2, `S:${user}`]],
    });
    requests.push({
      t: t + 1000, op: 'Query', tb: 'Users', ix: 'by-city', pk: `S:city-${user % 40}`, b: 6000, a: 200, r: 1, s: 4, n: 4,
      at: ['name', 'city'],
    });
  }
  const index = (name, key) => ({ name, kind: 'global', pk: [key], projection: 'ALL', read: 5, write: 5, bytes: 225000, items: 150 });
  write('unused-index', [{
    table: 'Users', pk: ['UserId:S'], ...provisioned(5, 5), ...sizes(225000, 150),
    indexes: [index('by-city', 'city:S'), index('by-phone', 'phone:S')],
  }], requests);
}

// Many users, small items, eventual reads: nothing to say.
{
  const requests = [];
  const draw = random(4);
  for (let i = 0; i < 600; ++i) {
    const user = `S:user-${Math.floor(draw() * 5000)}`;
    const t = kStart + i * 2 * kSecond;
    requests.push(i % 3 === 0 ? { t, op: 'PutItem', tb: 'Sessions', pk: user, b: 400, w: 1 }
                              : { t, op: 'GetItem', tb: 'Sessions', pk: user, b: 400, a: 400, r: 0.5 });
  }
  write('nothing-to-advise', [{ table: 'Sessions', pk: ['UserId:S'], ...provisioned(5, 5), ...sizes(2000000, 5000) }], requests);
}
