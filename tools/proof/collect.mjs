// From records of runs to the data of a proof. A record is one run of one slice:
//   {piece, slice, seed, words, commit, product, dirty, begin, seconds, exit, stopped, passed, failed, facts, load}
// Nothing is counted that has no record, and a record of other code than the page's is not counted.
import { readFileSync } from 'node:fs';

import { merge, read, readers, totals } from './read.mjs';

/**
 * What a log says of its run: {passed, failed, facts, complaint}. A run that printed no totals counts as one test. A suite
 * that should have told facts and told none has failed, and so has one that ended with an error behind passed tests.
 */
export function judge({ command, log, exit }) {
  const { passed, failed, closed } = totals(log);
  const facts = read(command, log);
  const verdict = { passed: closed ? passed : 0, failed: closed ? failed : 0, facts };
  if (!closed && exit === 0) verdict.passed = 1;
  if (exit !== 0 && verdict.failed === 0) verdict.failed = 1;
  const tells = command in readers && !['unit', 'access'].includes(command);
  if (tells && Object.keys(facts).length === 0 && verdict.failed === 0) {
    verdict.complaint = 'its log tells nothing of what it did';
    verdict.failed = Math.max(verdict.failed, 1);
  }
  return verdict;
}

// One row of the page for each piece.
function summary(piece, records) {
  const own = records.filter((record) => record.piece === piece.id);
  const ended = own.filter((record) => !record.stopped);
  const failures = ended.filter((record) => record.failed > 0);
  const { id, section, shows, not, needs, unit, slices } = piece;
  const row = {
    id, section, shows, not, needs, unit, planned: slices, done: new Set(ended.map((record) => record.slice)).size, stopped: own.length - ended.length,
    passed: 0, failed: 0, seconds: 0, facts: {}, words: ended[0]?.words ?? piece.command(0, 'N'), env: ended[0]?.env ?? piece.env?.(0, 'N') ?? {},
    commits: [...new Set(ended.map((record) => record.commit + (record.dirty ? '+' : '')))],
    begin: ended.map((record) => record.begin).sort()[0],
    failures: failures.map(({ slice, words, env, seed, begin, complaint, tail }) => ({ slice, words, env, seed, begin, complaint, tail })),
  };
  for (const record of ended) {
    row.passed += record.passed;
    row.failed += record.failed;
    row.seconds += record.seconds;
    row.facts = merge(row.facts, record.facts);
  }
  row.state = row.done === 0 ? 'not run' : row.failed > 0 ? 'failed' : row.done < row.planned ? 'partly' : 'passed';
  return row;
}

/** The points of docs/known-defects.md: [{title, text}]. */
export function defects(file) {
  const points = readFileSync(file, 'utf8').split(/^- /m).slice(1);
  return points.map((point) => {
    const text = point.split(/\n\n(?=#)/)[0].replace(/\s+/g, ' ').trim();
    const [, title] = text.match(/^\*\*(.+?)\.?\*\*/) ?? [undefined, text];
    return { title, text: text.replace(/^\*\*.+?\*\*\s*/, '') };
  });
}

/** The data of a page: `product` names the code that it is about. */
export function collect({ pieces, records, product, version, machine, known, never }) {
  const counted = records.filter((record) => record.product === product);
  const rows = pieces.map((piece) => summary(piece, counted));
  const ended = counted.filter((record) => !record.stopped);
  const loads = ended.map((record) => record.load).filter((load) => load !== undefined);
  return {
    version, product, machine,
    commits: [...new Set(ended.map((record) => record.commit))],
    uncommitted: ended.some((record) => record.dirty),
    binaries: [...new Set(ended.filter((record) => !pieces.find((piece) => piece.id === record.piece)?.serverless).map((record) => record.binary).filter(Boolean))],
    first: ended.map((record) => record.begin).sort()[0],
    last: ended.map((record) => record.begin).sort().at(-1),
    seconds: ended.reduce((sum, record) => sum + record.seconds, 0),
    load: loads.length > 0 ? { least: Math.min(...loads), most: Math.max(...loads) } : undefined,
    otherCode: records.length - counted.length,
    pieces: rows, defects: known, never,
  };
}
