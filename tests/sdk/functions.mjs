// For tests of triggers: a host of functions as SAM and other runtimes have it (Lambda's Invoke API), and the calls of Lambda's API
// of event source mappings. Only Node's own modules are used here.
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { request } from './harness.mjs';

// Answers POST /2015-03-31/functions/NAME/invocations by `functions[NAME](event, request, reply)`, which returns what the function
// returns, throws what it throws, or answers by itself and returns undefined after reply.end(). Any other path is the function
// "web" of a plain web server.
export class FunctionHost {
  static async start(functions = {}) {
    const host = new FunctionHost();
    host.functions = functions;
    host.calls = 0;
    host.server = http.createServer(async (message, reply) => {
      const chunks = [];
      try {
        for await (const chunk of message) chunks.push(chunk);
      } catch {
        return;  // the server was killed while it sent the event
      }
      host.calls += 1;
      const body = Buffer.concat(chunks).toString();
      const name = /^\/2015-03-31\/functions\/([^/]+)\/invocations/.exec(message.url)?.[1] ?? 'web';
      const run = host.functions[name];
      if (run === undefined) {
        reply.writeHead(404).end(JSON.stringify({ Type: 'User', Message: 'Function not found' }));
        return;
      }
      try {
        const result = await run(JSON.parse(body), message, reply, body);
        if (!reply.writableEnded && result !== undefined) reply.writeHead(200).end(JSON.stringify(result));
      } catch (error) {
        if (reply.headersSent) throw error;
        reply.writeHead(200, { 'X-Amz-Function-Error': 'Unhandled' })
          .end(JSON.stringify({ errorMessage: error.message, errorType: 'Error' }));
      }
    });
    host.server.keepAliveTimeout = 60000;
    host.server.listen(0, '127.0.0.1');
    await once(host.server, 'listening');
    host.server.unref();
    host.port = host.server.address().port;
    host.endpoint = `http://127.0.0.1:${host.port}`;
    return host;
  }
  async stop() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

const kPath = '/2015-03-31/event-source-mappings';

// Makes a table with a stream and one partition, so one shard until a test splits it. Resolves to its name and its stream's ARN.
export async function streamedTable(ddb, TableName, StreamViewType, more = {}) {
  const { TableDescription } = await ddb.CreateTable({
    TableName, ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    StreamSpecification: { StreamEnabled: true, StreamViewType }, ...more,
  });
  return { table: TableName, arn: TableDescription.LatestStreamArn };
}

// Lambda's API of mappings: each call answers {status, type, body}.
export function mappingsOf(endpoint) {
  const call = async (method, path, body) => {
    const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const reply = await request(endpoint, {
      method, path: kPath + path, body: body === undefined ? '' : JSON.stringify(body),
      headers: {
        'Content-Type': 'application/json', 'X-Amz-Date': stamp,
        Authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${stamp.slice(0, 8)}/us-east-1/lambda/aws4_request, ` +
          `SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`,
      },
    });
    return { status: reply.status, type: reply.headers['x-amzn-errortype'], body: reply.text === '' ? undefined : JSON.parse(reply.text) };
  };
  return {
    create: (body) => call('POST', '', body),
    get: (uuid) => call('GET', `/${uuid}`),
    list: (query = '') => call('GET', query),
    update: (uuid, body) => call('PUT', `/${uuid}`, body),
    remove: (uuid) => call('DELETE', `/${uuid}`),
  };
}

export async function triggersOf(endpoint) {
  const reply = await request(endpoint, { method: 'GET', path: '/_stator/triggers', headers: { 'X-Stator-Management': 'true' } });
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.json();
}

// Waits until `check` returns something true, and returns that.
export async function until(check, { within = 60_000, what = String(check) } = {}) {
  const end = Date.now() + within;
  while (true) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${within} ms: ${what}`);
    await delay(20);
  }
}
