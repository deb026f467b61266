// Builds the console into dist/: hashed names, and manifest.json.
//
//   node build.mjs [--watch] [--outdir DIR] [--no-budget]
//
// manifest.json has for each file its path below /console/, content type, ETag, whether its name
// changes with its content ("immutable"), and its size. index.html is what every other path below
// /console/ leads to. The build fails when the files exceed the budgets below. Equal sources make
// equal bytes: dist/ is kept in the repository, and `./dev console` compares.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import esbuild from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));

export const kBudgets = { all: 300 * 1024, firstView: 60 * 1024, index: 4 * 1024 };

const kTypes = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const options = (outdir) => ({
  absWorkingDir: here,
  entryPoints: [
    { in: 'src/app/main.tsx', out: 'main' },
    { in: 'src/style/main.css', out: 'main' },
  ],
  bundle: true,
  splitting: true,
  format: 'esm',
  target: ['chrome123', 'firefox128', 'safari17.5'],
  minify: true,
  metafile: true,
  legalComments: 'none',
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  outdir: path.join(outdir, 'assets'),
  entryNames: '[name]-[hash]',
  chunkNames: 'c-[hash]',
  logLevel: 'warning',
});

// The outputs that the browser has to have before the first view is drawn: main, its stylesheet,
// and what main imports statically.
function firstViewOf(metafile) {
  const wanted = new Set();
  const add = (name) => {
    if (wanted.has(name)) return;
    wanted.add(name);
    for (const one of metafile.outputs[name].imports) {
      if (one.kind === 'import-statement' && !one.external) add(one.path);
    }
  };
  for (const [name, output] of Object.entries(metafile.outputs)) {
    if (output.entryPoint === 'src/app/main.tsx' || output.entryPoint === 'src/style/main.css')
      add(name);
  }
  // Overview and Tables are the pages that a newcomer sees first; they count with the frame.
  for (const [name, output] of Object.entries(metafile.outputs)) {
    if (/^src\/pages\/(overview|tables)\/index\.tsx$/.test(output.entryPoint ?? '')) add(name);
  }
  return [...wanted];
}

// Writes index.html and the manifest. Returns the manifest with compressed sizes.
function finish(metafile, outdir) {
  const outputs = Object.keys(metafile.outputs);
  const find = (entry) => outputs.find((name) => metafile.outputs[name].entryPoint === entry);
  const inDist = (name) =>
    path.relative(outdir, path.resolve(here, name)).split(path.sep).join('/');
  const main = inDist(find('src/app/main.tsx'));
  const style = inDist(find('src/style/main.css'));
  const firstView = new Set(firstViewOf(metafile).map(inDist));
  // All at once instead of one level of imports after the other.
  const preload = [...firstView]
    .filter((name) => name.endsWith('.js') && name !== main)
    .map((name) => `<link rel="modulepreload" href="./${name}">`)
    .join('');
  const html = fs
    .readFileSync(path.join(here, 'src/index.html'), 'utf8')
    .replace('{{style}}', style)
    .replace('{{main}}', main)
    .replace('<!-- preload -->', preload)
    .replace(/>\s+</g, '><')
    .trim();
  fs.writeFileSync(path.join(outdir, 'index.html'), html);

  firstView.add('index.html');
  const files = [];
  for (const name of ['index.html', ...outputs.map(inDist).sort()]) {
    const bytes = fs.readFileSync(path.join(outdir, name));
    const entry = metafile.outputs[path.relative(here, path.join(outdir, name))];
    files.push({
      path: name,
      type: kTypes[path.extname(name)] ?? 'application/octet-stream',
      etag: createHash('sha256').update(bytes).digest('hex').slice(0, 16),
      immutable: name !== 'index.html',
      bytes: bytes.length,
      gzipBytes: gzipSync(bytes, { level: 9 }).length,
      firstView: firstView.has(name),
      // For people who read the manifest.
      of: entry?.entryPoint ?? largestInput(entry),
    });
  }
  const sum = (some) => some.reduce((all, file) => all + file.gzipBytes, 0);
  const manifest = {
    main,
    gzipBytes: sum(files),
    firstViewGzipBytes: sum(files.filter((file) => file.firstView)),
    files,
  };
  // Without compressed sizes, which differ between versions of zlib.
  const kept = {
    main,
    files: files.map(({ gzipBytes, ...file }) => file).sort((a, b) => (a.path < b.path ? -1 : 1)),
  };
  fs.writeFileSync(path.join(outdir, 'manifest.json'), `${JSON.stringify(kept, null, 1)}\n`);
  return manifest;
}

function largestInput(output) {
  const inputs = Object.entries(output?.inputs ?? {});
  inputs.sort((a, b) => b[1].bytesInOutput - a[1].bytesInOutput);
  return inputs[0]?.[0] ?? null;
}

const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;

// Returns a sentence for each budget that is exceeded.
function excess(manifest) {
  const found = [];
  const check = (what, bytes, limit) => {
    if (bytes > limit) found.push(`${what}: ${kb(bytes)} gzip, the limit is ${kb(limit)}`);
  };
  check('all files', manifest.gzipBytes, kBudgets.all);
  check('first view', manifest.firstViewGzipBytes, kBudgets.firstView);
  check('index.html', manifest.files[0].bytes, kBudgets.index);
  return found;
}

// Builds once. `budget: false` reports sizes without failing.
export async function build({
  outdir = path.join(here, 'dist'),
  budget = true,
  quiet = false,
} = {}) {
  fs.rmSync(outdir, { recursive: true, force: true });
  const result = await esbuild.build(options(outdir));
  const manifest = finish(result.metafile, outdir);
  if (!quiet) report(manifest);
  const found = excess(manifest);
  if (budget && found.length > 0) throw new Error(`The console is too large. ${found.join('; ')}`);
  return manifest;
}

function report(manifest) {
  for (const file of [...manifest.files].sort((a, b) => b.gzipBytes - a.gzipBytes).slice(0, 40)) {
    const mark = file.firstView ? '*' : ' ';
    console.log(`${mark} ${kb(file.gzipBytes).padStart(9)}  ${file.path}  ${file.of ?? ''}`);
  }
  console.log(
    `${manifest.files.length} files, ${kb(manifest.gzipBytes)} gzip of ${kb(kBudgets.all)}; ` +
      `first view (*) ${kb(manifest.firstViewGzipBytes)} of ${kb(kBudgets.firstView)}`,
  );
}

// Builds now and after each change of a source; `changed` is called after each build.
export async function watch({ outdir = path.join(here, 'dist'), changed = () => {} } = {}) {
  fs.rmSync(outdir, { recursive: true, force: true });
  const context = await esbuild.context({
    ...options(outdir),
    plugins: [
      {
        name: 'finish',
        setup(build) {
          build.onEnd((result) => {
            if (result.errors.length > 0) return;
            const manifest = finish(result.metafile, outdir);
            for (const sentence of excess(manifest)) console.warn(sentence);
            changed(manifest);
          });
        },
      },
    ],
  });
  await context.watch();
  return context;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--outdir');
  const outdir = at > 0 ? path.resolve(process.argv[at + 1]) : path.join(here, 'dist');
  if (process.argv.includes('--watch')) {
    await watch({ outdir, changed: (manifest) => report(manifest) });
  } else {
    await build({ outdir, budget: !process.argv.includes('--no-budget') });
  }
}
