// Makes build/site: every Markdown file of the project as a page, with a menu, a search that works without a server, and no
// request to any network. A link to a file that is no page leads to a page that shows the file; a link to a folder to its
// README or a list. Afterwards every link of every page is looked up. Prints "N passed, N failed", one for each page.
//
//   node tools/site/site.mjs [--out DIRECTORY]
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import MarkdownIt from 'markdown-it';

import { deadLinks } from './check.mjs';
import { kGroups } from './menu.mjs';
import { escape, shell } from './shell.mjs';
import { anchorMaker } from '../docs/anchors.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..');
const { values: options } = parseArgs({ options: { out: { type: 'string', default: path.join(root, 'build', 'site') } } });
const out = path.resolve(options.out);

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .split('\n').filter((file) => file && existsSync(path.join(root, file))).sort();
const files = new Set(tracked);
const kShownBytes = 512 * 1024; // a larger file is offered as it is, not shown

const markdown = tracked.filter((file) => file.endsWith('.md'));
const isPicture = (file) => /\.(png|svg|jpg|gif)$/.test(file);

// Where a page of the project lies on the site.
function addressOf(file) {
  if (file === 'README.md') return 'index.html';
  if (path.basename(file) === 'README.md') return path.posix.join(path.posix.dirname(file), 'index.html');
  return file.endsWith('.md') ? file.replace(/\.md$/, '.html') : `${file}.html`;
}

const copied = new Set(); // pictures
const shown = new Set();  // files that some page links to, shown as text
const listed = new Set(); // folders without a README
const problems = [];

// The site's address for a link in `from`, relative to that page.
function resolve(link, from) {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return link;
  const [target, anchor] = link.split('#');
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (target === '') return suffix;
  const file = path.posix.normalize(path.posix.join(path.posix.dirname(from), decodeURIComponent(target))).replace(/\/$/, '') || '.';
  const relative = (address) => path.posix.relative(path.posix.dirname(addressOf(from)), address) + suffix;
  if (files.has(file)) {
    if (isPicture(file)) {
      copied.add(file);
      return relative(file);
    }
    if (!file.endsWith('.md')) shown.add(file);
    return relative(addressOf(file));
  }
  if (existsSync(path.join(root, file)) && statSync(path.join(root, file)).isDirectory()) {
    if (files.has(path.posix.join(file, 'README.md'))) return relative(addressOf(path.posix.join(file, 'README.md')));
    listed.add(file);
    return relative(path.posix.join(file, 'index.html'));
  }
  problems.push(`${from}: ${link}: no such file`);
  return link;
}

const md = new MarkdownIt({ html: false, linkify: false });
md.renderer.rules.table_open = (tokens, i) => `<div class="wide${tokens[i].meta?.cards ? ' cards' : ''}${tokens[i].meta?.bare ? ' bare' : ''}" tabindex="0"><table>\n`;
md.renderer.rules.table_close = () => '</table></div>\n';

// Boxes that scroll sideways can be reached by keys.
const fence = md.renderer.rules.fence;
md.renderer.rules.fence = (...words) => fence(...words).replace(/^<pre/, '<pre tabindex="0"');
const codeBlock = md.renderer.rules.code_block;
md.renderer.rules.code_block = (...words) => codeBlock(...words).replace(/^<pre/, '<pre tabindex="0"');

const textOf = (inline) => inline.children.filter((token) => ['text', 'code_inline', 'softbreak'].includes(token.type))
  .map((token) => (token.type === 'softbreak' ? ' ' : token.content)).join('');

const kLongCell = 60;

// Names the column of each cell, for a narrow screen, on which the rows of a table with long cells stand below one another.
function nameColumns(tokens) {
  let table;
  let head;
  let column;
  tokens.forEach((token, i) => {
    if (token.type === 'table_open') [table, head] = [token, []];
    if (token.type === 'tr_open') column = 0;
    if (token.type === 'th_open') {
      head.push(textOf(tokens[i + 1]));
      // A heading without words is none.
      if (head.at(-1) === '') tokens[i].tag = tokens[i + 2].tag = 'td';
    }
    if (token.type === 'thead_close' && head.every((text) => text === '')) table.meta = { bare: true };
    if (token.type !== 'td_open') return;
    const text = textOf(tokens[i + 1]);
    if (column > 0 && text !== '' && head[column]) token.attrSet('data-column', head[column]);
    if (head.length > 2 && text.length > kLongCell) table.meta = { ...table.meta, cards: true };
    column++;
  });
}

// Parses a page: its HTML, title, headings, and sections for the search.
function render(file) {
  const tokens = md.parse(readFileSync(path.join(root, file), 'utf8'), {});
  const anchorOf = anchorMaker();
  const headings = [];
  const sections = [];
  let section;
  nameColumns(tokens);
  tokens.forEach((token, i) => {
    if (token.type === 'heading_open') {
      const inline = tokens[i + 1];
      // The anchor is made of the source, as the checker of links does.
      const heading = { level: Number(token.tag[1]), text: textOf(inline), anchor: anchorOf(inline.content) };
      token.attrSet('id', heading.anchor);
      headings.push(heading);
      section = { anchor: heading.anchor, heading: heading.text, text: [] };
      sections.push(section);
      if (heading.level > 1) inline.children.push(Object.assign(new token.constructor('html_inline', '', 0), {
        content: ` <a class="anchor" href="#${escape(heading.anchor)}" aria-label="Link to this section">#</a>` }));
    }
    if (token.type === 'inline') {
      for (const child of token.children) {
        if (child.type === 'link_open') child.attrSet('href', resolve(child.attrGet('href'), file));
        if (child.type === 'image') {
          child.attrSet('src', resolve(child.attrGet('src'), file));
          child.attrSet('loading', 'lazy');
        }
      }
      if (section && tokens[i - 1]?.type !== 'heading_open') section.text.push(textOf(token));
    }
    if (token.type === 'fence' && section) section.text.push(token.content);
  });
  const title = headings[0]?.text ?? file;
  return { file, address: addressOf(file), title, headings, html: md.renderer.render(tokens, md.options, {}),
    sections: sections.map((one) => ({ ...one, text: one.text.join(' ').replace(/\s+/g, ' ').trim() })) };
}

function put(address, content) {
  const target = path.join(out, address);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, content);
}

rmSync(out, { recursive: true, force: true });
const pages = markdown.map(render);
const byFile = new Map(pages.map((page) => [page.file, page]));

// A document of docs/ that the menu does not name stands in a last group.
const inMenu = new Set(kGroups.flatMap((group) => group.pages.map((page) => page.file)));
for (const file of inMenu) if (!byFile.has(file)) problems.push(`tools/site/menu.mjs: ${file}: no such file`);
const more = markdown.filter((file) => /^docs\/[^/]*\.md$/.test(file) && !inMenu.has(file)).map((file) => ({ file }));
const groups = [...kGroups, ...(more.length > 0 ? [{ title: 'More', pages: more }] : [])].map((group) => ({ title: group.title, pages: group.pages.filter((page) => byFile.has(page.file))
  .map((page) => ({ title: page.title ?? byFile.get(page.file).title, address: addressOf(page.file) })) }));

for (const page of pages) put(page.address, shell({ ...page, groups }));

// Files and folders that pages link to. A folder's list links to further ones, until nothing new comes.
const made = new Set();
for (let more = true; more;) {
  more = false;
  for (const folder of [...listed]) {
    if (made.has(folder)) continue;
    made.add(folder);
    more = true;
    const inside = tracked.filter((file) => file.startsWith(`${folder}/`)).map((file) => file.slice(folder.length + 1));
    const entries = [...new Set(inside.map((file) => file.split('/')[0]))];
    const items = entries.map((entry) => `<li><a href="${escape(resolve(entry, `${folder}/README.md`))}">${escape(entry)}</a></li>`);
    put(`${folder}/index.html`, shell({ address: `${folder}/index.html`, title: folder, headings: [], groups, html: `<h1>${escape(folder)}</h1>\n<ul>\n${items.join('\n')}\n</ul>\n` }));
  }
  for (const file of [...shown]) {
    if (made.has(file)) continue;
    made.add(file);
    more = true;
    const bytes = readFileSync(path.join(root, file));
    const isText = bytes.length <= kShownBytes && !bytes.subarray(0, 8192).includes(0);
    if (!isText) copied.add(file);
    const body = isText ? `<pre class="source" tabindex="0"><code>${escape(bytes.toString('utf8'))}</code></pre>` : `<p><a href="${escape(path.basename(file))}">The file</a>, ${bytes.length} bytes.</p>`;
    put(addressOf(file), shell({ address: addressOf(file), title: file, headings: [], groups, html: `<h1 class="path">${escape(file)}</h1>\n${body}\n` }));
  }
}
for (const file of copied) {
  mkdirSync(path.dirname(path.join(out, file)), { recursive: true });
  cpSync(path.join(root, file), path.join(out, file));
}

// The search reads a list of sections, as a script: pages that are opened as files may not fetch.
const index = pages.flatMap((page) => page.sections.map(({ anchor, heading, text }) => [page.address, page.title, anchor, heading, text]));
put('assets/index.js', `window.kSections = ${JSON.stringify(index)};\n`);
for (const asset of ['site.css', 'site.js']) cpSync(path.join(here, 'assets', asset), path.join(out, 'assets', asset));

const { looked, dead } = deadLinks(out);
for (const line of [...problems, ...dead]) console.error(line);
const bad = problems.length + new Set(dead.map((line) => line.split(':')[0])).size;
console.log(`${path.relative(process.cwd(), out) || out}: ${looked.pages} pages, ${looked.links} links, ${index.length} sections to search`);
console.log(`${looked.pages - Math.min(bad, looked.pages)} passed, ${bad} failed`);
process.exitCode = bad > 0 ? 1 : 0;
