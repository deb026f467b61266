// Runs test/*.test.ts: bundles each into a temporary directory and hands them to Node's runner.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import esbuild from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const out = fs.mkdtempSync(path.join(os.tmpdir(), 'console-test-'));
const tests = fs.readdirSync(here).filter((name) => name.endsWith('.test.ts'));
try {
  await esbuild.build({
    entryPoints: tests.map((name) => path.join(here, name)),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outdir: out,
    outExtension: { '.js': '.mjs' },
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  const files = fs.readdirSync(out).map((name) => path.join(out, name));
  const { status } = spawnSync(
    process.execPath,
    ['--enable-source-maps', '--test', ...process.argv.slice(2), ...files],
    { stdio: 'inherit' },
  );
  process.exitCode = status ?? 1;
} finally {
  fs.rmSync(out, { recursive: true, force: true });
}
