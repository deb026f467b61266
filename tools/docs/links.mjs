// Checks the relative links of all Markdown files: the file exists, and so does the heading that an anchor names.
// Prints the dead ones and "N passed, N failed", one for each file.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

import { anchorMaker } from './anchors.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root, encoding: 'utf8' })
  .split('\n').filter((file) => file && existsSync(join(root, file)));

// The lines of a file outside of fenced blocks, without inline code.
function prose(file) {
  let fenced = false;
  return readFileSync(join(root, file), 'utf8').split('\n').map((line) => {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    return fenced || /^\s*(```|~~~)/.test(line) ? '' : line;
  });
}

// The anchors that GitHub makes of a file's headings.
const anchors = new Map();
function anchorsOf(file) {
  if (anchors.has(file)) return anchors.get(file);
  const found = new Set();
  const anchorOf = anchorMaker();
  for (const line of prose(file)) {
    const [, heading] = line.match(/^#{1,6}\s+(.*?)\s*#*$/) ?? [];
    if (heading !== undefined) found.add(anchorOf(heading));
  }
  anchors.set(file, found);
  return found;
}

let failed = 0;
for (const file of files) {
  let dead = 0;
  // Links may be wrapped, so lines are joined; the line of a link is counted from its position.
  const text = prose(file).join('\n').replace(/`[^`\n]*`/g, (code) => ' '.repeat(code.length));
  for (const match of text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)) {
    const target = match[1];
    if (/^[a-z][a-z0-9+.-]*:/i.test(target)) continue;
    const [path, anchor] = target.split('#');
    const to = path === '' ? file : normalize(join(dirname(file), decodeURIComponent(path)));
    let wrong = '';
    if (!existsSync(join(root, to))) wrong = 'no such file';
    else if (anchor && to.endsWith('.md') && !anchorsOf(to).has(decodeURIComponent(anchor))) wrong = 'no such heading';
    else if (anchor && statSync(join(root, to)).isDirectory()) wrong = 'an anchor of a folder';
    if (!wrong) continue;
    ++dead;
    console.error(`${file}:${text.slice(0, match.index).split('\n').length}: ${target}: ${wrong}`);
  }
  if (dead > 0) ++failed;
}
console.log(`${files.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
