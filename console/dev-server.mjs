// Serves the console from disk in front of a Stator server, so that the page is same-origin.
//
//   node dev-server.mjs [--endpoint http://localhost:8000] [--port 8001] [--host 127.0.0.1]
//                       [--watch] [--no-build]
//
// /console/ are the built files, with the headers that the binary sends, and a browser at / is led
// there. Everything else goes to the endpoint. Prints `{"port": N}` once it listens.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, watch } from './build.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

// Headers of every file of the console.
export const kPageHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const kTypes = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

// Serves a file of the console. The view stands behind the # of the address, so any other path below
// /console/ leads back there, relatively: a proxy may have a prefix in front.
function serveFile(dist, target, request, reply) {
  const name = target.slice('/console/'.length);
  const file = name === '' ? 'index.html' : name;
  const isAsset = /^assets\/[\w.-]+$/.test(name) && fs.existsSync(path.join(dist, name));
  if (name.startsWith('assets/') && !isAsset) {
    reply.writeHead(404, { 'Content-Type': 'text/plain', ...kPageHeaders });
    return reply.end('There is no such file. Reload the page.\n');
  }
  if (name !== '' && !isAsset) {
    const up = '../'.repeat(name.split('/').length - 1);
    reply.writeHead(302, { Location: up === '' ? './' : up, ...kPageHeaders });
    return reply.end();
  }
  const bytes = fs.readFileSync(path.join(dist, file));
  const gzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  reply.writeHead(200, {
    'Content-Type': kTypes[path.extname(file)] ?? 'application/octet-stream',
    'Cache-Control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    Vary: 'Accept-Encoding',
    ...(gzip ? { 'Content-Encoding': 'gzip' } : {}),
    ...kPageHeaders,
  });
  reply.end(gzip ? gzipSync(bytes) : bytes);
}

function proxy(endpoint, agent, request, reply, body) {
  const url = new URL(request.url, endpoint);
  const headers = { ...request.headers, host: url.host };
  // The server accepts its own pages only: this one stands in for them.
  if (headers.origin) headers.origin = url.origin;
  const onward = http.request(url, { method: request.method, headers, agent }, (answer) => {
    const chunks = [];
    answer.on('data', (chunk) => chunks.push(chunk));
    answer.on('error', () => reply.destroy());
    answer.on('end', () => {
      const whole = Buffer.concat(chunks);
      reply.writeHead(answer.statusCode, answer.headers);
      reply.end(whole);
    });
  });
  onward.on('error', () => reply.destroy());
  reply.on('close', () => {
    if (!reply.writableFinished) onward.destroy();
  });
  onward.end(body);
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

// Resolves to the listening server; `close` ends it.
export async function startDevServer({
  endpoint = 'http://localhost:8000',
  port = 0,
  host = '127.0.0.1',
  dist = path.join(here, 'dist'),
} = {}) {
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer(async (request, reply) => {
    try {
      const { pathname } = new URL(request.url, 'http://x');
      if (request.method === 'GET' || request.method === 'HEAD') {
        const wantsPage = (request.headers.accept ?? '').includes('text/html');
        if ((pathname === '/' && wantsPage) || pathname === '/console' || pathname === '/shell') {
          reply.writeHead(302, { Location: '/console/', 'Cache-Control': 'no-store' });
          return reply.end();
        }
        if (pathname.startsWith('/console/')) return serveFile(dist, pathname, request, reply);
      }
      const body = await bodyOf(request);
      proxy(endpoint, agent, request, reply, body);
    } catch (error) {
      console.error(error);
      if (!reply.headersSent) reply.writeHead(502, { 'Content-Type': 'application/json' });
      reply.end(JSON.stringify({ message: String(error?.message ?? error) }));
    }
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: server.address().port,
    url: `http://localhost:${server.address().port}`,
    async close() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      endpoint: { type: 'string', default: 'http://localhost:8000' },
      port: { type: 'string', default: '8001' },
      host: { type: 'string', default: '127.0.0.1' },
      watch: { type: 'boolean', default: false },
      'no-build': { type: 'boolean', default: false },
    },
  });
  if (values.watch) await watch();
  else if (!values['no-build']) await build({ budget: false, quiet: true });
  const server = await startDevServer({ ...values, port: Number(values.port) });
  console.log(JSON.stringify({ port: server.port }));
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, async () => {
      await server.close();
      process.exit(0);
    });
  }
}
