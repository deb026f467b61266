#!/usr/bin/env node
// Checks that the tests expect every error text of messages.txt, which has the format. Prints what is missing and the
// totals; exit status 1 if anything is missing, or expected although it is said not to come up.
// With --where prints for each text the file that expects it.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');
const OPV = 'One or more parameter values were invalid';

/** The texts listed: { line, text, reason, feature }. */
function listed() {
  const entries = [];
  let open = [];
  readFileSync(join(HERE, 'messages.txt'), 'utf8').split('\n').forEach((line, at) => {
    if (/^(#|==|\s*$)/.test(line)) return;
    const note = /^\s+([-?]) (.+)$/.exec(line);
    if (note) {
      for (const entry of open) entry[note[1] === '-' ? 'reason' : 'feature'] = note[2];
      return;
    }
    open = alternatives(line.replace(/^OPV:/, `${OPV}:`)).map((text) => ({ line: at + 1, text }));
    entries.push(...open);
  });
  return entries;
}

/** {A|B} written out; {{…}} are braces of the text itself. */
function alternatives(text) {
  const choice = /(?<!\{)\{([^{}]*\|[^{}]*)\}(?!\})/.exec(text);
  if (!choice) return [text.replaceAll('{{', '{').replaceAll('}}', '}')];
  return choice[1].split('|').flatMap((one) => alternatives(text.slice(0, choice.index) + one + text.slice(choice.index + choice[0].length)));
}

const unescaped = (text) => text.replace(/\\(["'\\])/g, '$1');

/** What a file expects of answers, a text in a line. Scripts: expected lines only; C++: adjacent literals are one. */
function expectations(file) {
  const content = readFileSync(file, 'utf8');
  if (file.endsWith('.ddb')) {
    const lines = [];
    for (const line of content.split('\n')) {
      if (line.startsWith('! ')) lines.push(line);
      for (const [, message] of line.matchAll(/"[Mm]essage": ?"((?:[^"\\]|\\.)*)"/g)) lines.push(unescaped(message));
    }
    return lines.join('\n');
  }
  return unescaped(content.replace(/"\s*\n\s*R?"\(?/g, '').replace(/' \+\n\s*'/g, ''));
}

function testFiles(folder, accept) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testFiles(path, accept);
    return accept.test(entry.name) ? [path] : [];
  });
}

const pattern = (text) => new RegExp(text.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^\\n]*?'));

const files = [...testFiles(HERE, /\.ddb$/), ...testFiles(join(ROOT, 'tests', 'sdk'), /\.test\.mjs$/), ...testFiles(join(ROOT, 'tests', 'hostile'), /\.test\.mjs$/),
  ...testFiles(join(ROOT, 'src'), /_test\.cc$/)].map((file) => ({ file: relative(ROOT, file), text: expectations(file) }));
let passed = 0;
let failed = 0;
for (const { line, text, reason, feature } of listed()) {
  const wanted = pattern(text);
  const where = files.find((each) => wanted.test(each.text))?.file;
  if (process.argv.includes('--where')) console.log(`${where ?? (reason ?? feature ?? 'nowhere')}: ${text}`);
  if (reason ? where === undefined : where !== undefined || feature) {
    passed++;
  } else {
    failed++;
    console.log(reason ? `messages.txt:${line}: said not to come up (${reason}), but ${where} expects it: ${text}`
      : `messages.txt:${line}: no test expects: ${text}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
