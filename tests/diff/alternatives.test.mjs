// README's table against the alternatives, line by line: each server is asked, and README has the words that the answers make
// true.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { kLines, rows } from './alternatives.mjs';
import { startDynalite, startDynamoDbLocal, startStator } from './servers.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

describe('the table of README', () => {
  const started = new Map();
  const folder = mkdtempSync(join(tmpdir(), 'stator-alternatives-'));
  // Stator is started once for each set of flags that some line needs.
  async function server(which, args = []) {
    const name = [which, ...(which === 'stator' ? args : [])].join(' ');
    if (!started.has(name)) {
      const launch = { stator: () => startStator([...args, `--backup-dir=${folder}/backups-${started.size}`], folder), local: startDynamoDbLocal, dynalite: startDynalite };
      started.set(name, await launch[which]());
    }
    return started.get(name);
  }
  before(async () => Promise.all([server('local'), server('dynalite')]));
  after(async () => {
    await Promise.all([...started.values()].map((one) => one.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  for (const line of kLines) {
    test(line.subject, async () => {
      assert.ok(existsSync(join(root, line.more)), line.more);
      for (const [at, which] of ['stator', 'local', 'dynalite'].entries()) {
        const answer = await line.probe(await server(which, line.args));
        if (line.is[at] instanceof RegExp) assert.match(answer, line.is[at], which);
        else assert.equal(answer, line.is[at], which);
      }
    });
  }

  test('README has these lines and no others', () => {
    const [, section] = readFileSync(join(root, 'README.md'), 'utf8').match(/^## Beside the alternatives\n([\s\S]*?)(?=^## )/m) ?? [undefined, ''];
    const found = section.split('\n').filter((line) => line.startsWith('| [')).map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));
    // The lines of figures link to their measurement.
    assert.deepEqual(found.filter(([first]) => !first.includes('docs/performance.md')), rows());
  });
});
