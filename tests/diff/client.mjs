// A raw JSON 1.0 client: it sends exactly what the generator wrote, without an SDK that would mend
// a request or hide a member of the answer.
import http from 'node:http';

const CREDENTIAL = 'AKIDDIFFDIFFDIFFDIFF';
const SIGNATURE = 'a'.repeat(64);

export class Client {
  /** @param {string} url of the server, for example http://127.0.0.1:8000 */
  constructor(url) {
    const { hostname, port } = new URL(url);
    this.url = url;
    this.target = { host: hostname, port: Number(port || 80) };
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  }

  /**
   * Sends one operation and resolves to { status, body, raw }; body is undefined when the answer is not JSON.
   * `payload` is an object, or a string that is sent as it is. Rejects when the connection breaks.
   */
  async call(operation, payload) {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    try {
      return await this.#send(operation, text);
    } catch (error) {
      // A server may close an idle connection just as it is reused; a second try on a new one tells that apart
      // from a server that died. The broken request never got an answer, so at worst it was applied twice.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') throw error;
      return this.#send(operation, text);
    }
  }

  #send(operation, text) {
    const now = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const scope = `${CREDENTIAL}/${now.slice(0, 8)}/us-east-1/dynamodb/aws4_request`;
    const headers = {
      'Content-Type': 'application/x-amz-json-1.0',
      'Content-Length': Buffer.byteLength(text),
      'X-Amz-Target': `DynamoDB_20120810.${operation}`,
      'X-Amz-Date': now,
      Authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=content-type;host;x-amz-date;` +
        `x-amz-target, Signature=${SIGNATURE}`,
    };
    return new Promise((resolve, reject) => {
      const request = http.request(
        { ...this.target, method: 'POST', path: '/', agent: this.agent, headers, timeout: 30000 },
        (response) => {
          const chunks = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const raw = Buffer.concat(chunks).toString('utf8');
            let body;
            try {
              body = raw === '' ? {} : JSON.parse(raw);
            } catch {
              body = undefined;
            }
            resolve({ status: response.statusCode, body, raw });
          });
        });
      request.on('timeout', () => request.destroy(new Error(`${this.url}: no answer to ${operation} in 30 s`)));
      request.on('error', reject);
      request.end(text);
    });
  }

  close() {
    this.agent.destroy();
  }
}
