// Runs access_tool: the server's evaluation of policies, one request a line.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const tool = process.env.ACCESS_TOOL ?? fileURLToPath(new URL('../../build/release/access_tool', import.meta.url));
if (!existsSync(tool)) throw new Error(`${tool} does not exist: build the target access_tool, or set ACCESS_TOOL`);

function run(args, input) {
  const done = spawnSync(tool, args, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(`access_tool ended with ${done.status ?? done.signal}: ${done.stderr}`);
  return done.stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
}

// Answers requests in order.
export const evaluate = (requests) => run([], requests.map((request) => JSON.stringify(request)).join('\n') + '\n');
export const catalogue = () => run(['catalogue'], '');
