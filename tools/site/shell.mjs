// The frame of a page: head, menu, search, table of contents.
import path from 'node:path';

export const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

// Runs before the page is painted, so that a chosen scheme does not flash.
const kScheme = "try { const scheme = localStorage.getItem('scheme'); if (scheme) document.documentElement.dataset.scheme = scheme; } catch {}";

function menu(groups, address, to) {
  return groups.map((group) => `<h2>${escape(group.title)}</h2>\n<ul>\n${group.pages.map((page) =>
    `<li><a href="${escape(to(page.address))}"${page.address === address ? ' aria-current="page"' : ''}>${escape(page.title)}</a></li>`).join('\n')}\n</ul>`).join('\n');
}

function contents(headings) {
  const inner = headings.filter((heading) => heading.level === 2 || heading.level === 3);
  if (inner.length < 3) return '';
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2>\n<ul>\n${inner.map((heading) =>
    `<li class="level${heading.level}"><a href="#${escape(heading.anchor)}">${escape(heading.text)}</a></li>`).join('\n')}\n</ul></nav>`;
}

/** The text of a page of the site. */
export function shell({ address, title, headings, html, groups }) {
  const to = (other) => path.posix.relative(path.posix.dirname(address), other) || path.posix.basename(other);
  const home = path.posix.relative(path.posix.dirname(address), '.');
  return `<!doctype html>
<html lang="en" data-home="${escape(home === '' ? '' : `${home}/`)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title === 'Stator' ? title : `${title} · Stator`)}</title>
<script>${kScheme}</script>
<link rel="stylesheet" href="${escape(to('assets/site.css'))}">
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<button id="menu-button" aria-expanded="false" aria-controls="menu">Menu</button>
<a class="name" href="${escape(to('index.html'))}">Stator</a>
<div class="search" role="search">
<input id="search" type="search" placeholder="Search  ( / )" aria-label="Search the documents" autocomplete="off" aria-controls="results">
<ol id="results" hidden></ol>
</div>
<button id="scheme" title="Light, dark, or as the system says">Scheme</button>
</header>
<nav id="menu" aria-label="Documents">
${menu(groups, address, to)}
</nav>
<main id="main">
<article>
${html}</article>
</main>
${contents(headings)}
<script src="${escape(to('assets/index.js'))}" defer></script>
<script src="${escape(to('assets/site.js'))}" defer></script>
</body>
</html>
`;
}
