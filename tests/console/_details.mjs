import { setTimeout as delay } from 'node:timers/promises';
import { Console } from './harness.mjs';
const it = await Console.start();
const page = await it.open('tables/import');
await page.goto(it.url('overview'));
await page.getByRole('button', { name: 'Load the music sample' }).click();
await page.getByRole('grid', { name: 'Items of music' }).waitFor();
await page.goto(it.url('tables'));
await page.getByRole('button', { name: 'More', exact: true }).click();
await page.getByRole('menuitem', { name: 'Heat a sample table' }).click();
await delay(12000);
for (const address of ['overview','tables','tables/new','tables/music/items','tables/sample-votes/heat','tables/sample-votes/throttling','tables/sample-votes/capacity','tables/music/capacity','tables/music/indexes','tables/music/streams','design?of=sample-votes','design','partiql','requests','advice','metrics','faults','backups','settings','tables/music/time']) {
  const own = await it.open(address, { width: 390, height: 844 });
  await delay(2500);
  await own.evaluate(() => { for (const d of document.querySelectorAll('details')) d.open = true; });
  await delay(600);
  const bad = await own.evaluate(() => {
    const out = [];
    if (document.documentElement.scrollWidth > innerWidth) out.push(`page ${document.documentElement.scrollWidth}`);
    for (const e of document.querySelectorAll('main *')) {
      const r = e.getBoundingClientRect();
      if (r.width === 0 || r.right <= innerWidth + 1) continue;
      let p = e.parentElement, scrolls = false;
      while (p && p !== document.body) { const o = getComputedStyle(p).overflowX; if (o === 'auto' || o === 'scroll' || o === 'hidden') { scrolls = true; break; } p = p.parentElement; }
      if (!scrolls) out.push(`${e.tagName}.${e.className} ${Math.round(r.right)}`);
    }
    return out.slice(0, 6);
  });
  console.log(address, bad.join(' | '));
  await own.screenshot({ path: `/tmp/shots/details-${address.replace(/\W+/g, '-')}.png`, fullPage: true });
  await own.context().close();
}
await it.stop();
