// ./dev prose: counts what breaks the language rule of docs/style.md in comments, documents and test names.
//
// The count is a tripwire and no judge: a clean page can still be a riddle. It fails when the total is above the recorded one;
// `--record` writes a lower total down, `--list [room]` prints each finding. Rooms are the first two folders of a path.
// Left out: the changelog and the record of measurements, which quote the past, and the style guide, which quotes lapses.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');
const recordFile = join(here, 'count');

const start = String.raw`(?:^|[.:;!?] )`; // of a sentence or of a clause that follows a colon or a semicolon
const rules = [
  ['who as subject', new RegExp(`${start}(?:Who|who|Whose|Whom)\\b(?![^.;]*\\?)|\\b[Ww]h(?:o|om|ose)ever\\b`, 'g')],
  ['what as subject', /(?:^|[.!?;] )What\b(?![^.;]*\?)|: what (?:is|are|was|were|has|does|came|comes)\b/g],
  ['person for a process', /\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody|[Ee]verybody|[Hh]e|[Hh]im|[Hh]is|[Ss]he)\b/g],
  ['quantity without a name', /\b[Ss]o (?:many|much|long|few)\b|\bthat (?:much|many|long)\b/g],
  ['comment begins with Of', /^Of (?!course)/g],
  ['comment begins with The same, As or Which', /^(?:The same\b|As (?=[a-z]+[A-Z]|[A-Z])|Which\b)/g],
];
const testRules = [['who as subject', /(?:^|[.:] ?|[a-z])(?:Who(?:ever)?|Whose)(?=[A-Z])|^[Ww]ho\b/g], ['person for a process', /(?:No|Some|Any)body|\b(?:no|some|any)body\b/g]];

// The comments of a source file, each run of comment lines joined: [line, text].
function comments(text, marker) {
  const found = [];
  let open = null;
  text.split('\n').forEach((line, index) => {
    const [, code, comment] = line.match(marker) ?? [];
    if (comment === undefined) return (open = null);
    if (open && code.trim() === '' && open.alone) return (open.text += ' ' + comment.trim());
    open = { line: index + 1, text: comment.trim(), alone: code.trim() === '' };
    found.push(open);
  });
  return found;
}

// The prose of a Markdown file, by paragraph, list item and table cell; no code, no headings.
function prose(text) {
  const found = [];
  let open = null;
  let fenced = false;
  text.split('\n').forEach((line, index) => {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    if (fenced || /^\s*(```|~~~|#|$)/.test(line)) return (open = null);
    const clean = line.replace(/`[^`]*`/g, 'X').replace(/[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}/g, '').trim();
    if (clean.startsWith('|')) {
      open = null;
      for (const cell of clean.split('|')) found.push({ line: index + 1, text: cell.trim() });
    } else if (open && !/^(?:[-*+]|\d+\.) /.test(clean)) {
      open.text += ' ' + clean;
    } else {
      found.push((open = { line: index + 1, text: clean.replace(/^(?:[-*+]|\d+\.) /, '') }));
    }
  });
  return found;
}

function pieces(file, text) {
  // What is generated from comments is counted there.
  if (file.endsWith('.md')) return prose(text.replace(/<!-- files: generated[^]*?<!-- end of the generated part -->/, (part) => part.replace(/[^\n]/g, ''))).map((p) => ({ ...p, rules }));
  const slashes = /\.(?:cc|h|mjs|js)$/.test(file);
  const marker = slashes ? /^(.*?)(?<!:)\/\/+ ?(.*)$/ : /^(\s*|.*?\s)#(?!!|\{)+ ?(.*)$/;
  const found = comments(text, marker).map((p) => ({ ...p, rules }));
  const name = file.endsWith('.mjs') ? /\b(?:test|it)\(\s*(['"`])(.*?)\1/ : /^(?:TYPED_)?TEST(?:_F|_P)?\(\w+, (\w+)\)()/;
  text.split('\n').forEach((line, index) => {
    const match = line.match(name);
    if (match) found.push({ line: index + 1, text: file.endsWith('.mjs') ? match[2] : match[1], rules: testRules });
  });
  return found;
}

const files = execFileSync('git', ['ls-files', '*.cc', '*.h', '*.mjs', '*.py', '*.md', '*.cmake', '*CMakeLists.txt', 'dev', 'tests/*/run', 'tests/cluster/cluster'],
  { cwd: root, encoding: 'utf8' }).split('\n').filter((file) => file && !/\/fuzz\/corpus\/|^CHANGELOG|^bench\/history\/|^tools\/prose\/|^docs\/style\.md/.test(file));
const counts = new Map();
const listed = process.argv.indexOf('--list');
for (const file of files) {
  const room = file.includes('/') ? file.split('/').slice(0, -1).slice(0, 2).join('/') : 'root';
  for (const { line, text, rules: applied } of pieces(file, readFileSync(join(root, file), 'utf8'))) {
    for (const [rule, pattern] of applied) {
      for (const match of text.matchAll(pattern)) {
        counts.set(room, (counts.get(room) ?? 0) + 1);
        if (listed >= 0 && [undefined, room, file].includes(process.argv[listed + 1])) {
          const from = Math.max(0, match.index - 30);
          console.log(`${file}:${line}: ${rule}: ${text.slice(from, match.index + 60)}`);
        }
      }
    }
  }
}

const total = [...counts.values()].reduce((sum, n) => sum + n, 0);
const lines = readFileSync(recordFile, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean).map((line) => line.split(' '));
const recorded = new Map(lines.map(([room, n]) => [room, Number(n)]));
const allowed = lines.length ? [...recorded.values()].reduce((sum, n) => sum + n, 0) : Infinity;
if (listed < 0) {
  for (const room of [...new Set([...counts.keys(), ...recorded.keys()])].sort()) {
    const [now, before] = [counts.get(room) ?? 0, recorded.get(room) ?? 0];
    console.log(`${room.padEnd(20)} ${String(now).padStart(4)}${now === before ? '' : `  (recorded: ${before})`}`);
  }
}
console.log(`${total} places break the language rule; recorded: ${allowed}`);
if (total > allowed && listed < 0) {
  console.error(`see docs/style.md, section Language; \`./dev prose --list ROOM\` shows the places of a room, for instance src/table`);
  process.exit(1);
}
if (process.argv.includes('--record')) {
  writeFileSync(recordFile, [...counts].sort().map(([room, n]) => `${room} ${n}\n`).join(''));
}
