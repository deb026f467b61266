// Looks up every link of a folder of pages: the file is there, and so is the place that an anchor names. Whatever a page
// loads by itself must be in the folder too, so that it needs no network.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

const unescape = (text) => text.replace(/&quot;/g, '"').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');

/** {looked: {pages, links}, dead: ["page: link: reason"]} */
export function deadLinks(folder) {
  const pages = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.html')).sort();
  const texts = new Map(pages.map((page) => [page, readFileSync(path.join(folder, page), 'utf8')]));
  const anchors = new Map([...texts].map(([page, text]) => [page, new Set([...text.matchAll(/ id="([^"]*)"/g)].map((match) => unescape(match[1])))]));
  const dead = [];
  let links = 0;
  for (const [page, text] of texts) {
    for (const [tag, attribute, quoted] of text.matchAll(/<[a-z][^>]*? (href|src)="([^"]*)"/g)) {
      const link = unescape(quoted);
      links++;
      if (/^[a-z][a-z0-9+.-]*:/i.test(link)) {
        if (attribute === 'src' || tag.startsWith('<link')) dead.push(`${page}: ${link}: is loaded from elsewhere`);
        continue;
      }
      const [target, anchor] = link.split('#');
      const file = target === '' ? page : path.normalize(path.join(path.dirname(page), decodeURIComponent(target)));
      if (!existsSync(path.join(folder, file))) dead.push(`${page}: ${link}: no such file`);
      else if (anchor && !anchors.get(file)?.has(decodeURIComponent(anchor))) dead.push(`${page}: ${link}: no such place`);
    }
  }
  return { looked: { pages: pages.length, links }, dead };
}
