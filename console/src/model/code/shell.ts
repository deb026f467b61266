// The AWS CLI and curl.
import { kAsOfHeader, type Request, type Where } from './request.ts';

// In single quotes, which the shell leaves alone.
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : shellQuote(text));

const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase();

// The AWS CLI sends no header of its own: Stator's command where it says the same, else curl.
function pastInShell(request: Request, where: Where): string {
  const { TableName, Key, ...rest } = request.input;
  const others = Object.keys(rest).filter(
    (name) => name !== 'ConsistentRead' && rest[name] !== undefined,
  );
  const asks = request.operation === 'GetItem' || request.operation === 'Scan';
  if (!asks || others.length > 0)
    return `# The AWS CLI cannot send the header ${kAsOfHeader}. curl can:\n${curl(request, where)}`;
  const key = Key === undefined ? '' : ` ${shellQuote(JSON.stringify(Key))}`;
  const endpoint = where.endpoint === null ? '' : ` \\\n  --endpoint-url ${word(where.endpoint)}`;
  return (
    `# The AWS CLI cannot send the header ${kAsOfHeader}. Stator's own command:\n` +
    `stator at ${word(String(TableName))} ${word(request.asOf ?? '')}${key}${endpoint}\n`
  );
}

// For version 2 of the CLI, which takes binaries as base64.
export function cli(request: Request, where: Where): string {
  if (request.asOf !== undefined) return pastInShell(request, where);
  const service = request.service === 'DynamoDBStreams' ? 'dynamodbstreams' : 'dynamodb';
  const lines = [`aws ${service} ${kebab(request.operation)}`];
  if (where.endpoint !== null) lines.push(`--endpoint-url ${word(where.endpoint)}`);
  lines.push(`--region ${where.region}`);
  for (const [name, value] of Object.entries(request.input)) {
    if (value === undefined) continue;
    const flag = kebab(name);
    if (typeof value === 'boolean') lines.push(value ? `--${flag}` : `--no-${flag}`);
    else if (typeof value === 'string' || typeof value === 'number')
      lines.push(`--${flag} ${word(String(value))}`);
    else lines.push(`--${flag} ${shellQuote(JSON.stringify(value))}`);
  }
  const text = `${lines.join(' \\\n  ')}\n`;
  const keys =
    where.endpoint === null ? '' : 'export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any\n';
  const binary = /"(B|BS)":/.test(JSON.stringify(request.input))
    ? '# Binaries are base64: as version 2 of the AWS CLI takes them.\n'
    : '';
  return keys + binary + text;
}

export function curl(request: Request, where: Where): string {
  const endpoint = where.endpoint ?? `https://dynamodb.${where.region}.amazonaws.com`;
  const user = where.endpoint === null ? '"$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"' : 'any:any';
  const target =
    request.service === 'DynamoDBStreams' ? 'DynamoDBStreams_20120810' : 'DynamoDB_20120810';
  return (
    `curl ${word(`${endpoint.replace(/\/$/, '')}/`)} \\\n` +
    `  --user ${user} --aws-sigv4 aws:amz:${where.region}:dynamodb \\\n` +
    `  -H 'Content-Type: application/x-amz-json-1.0' \\\n` +
    `  -H 'X-Amz-Target: ${target}.${request.operation}' \\\n` +
    (request.asOf === undefined ? '' : `  -H '${kAsOfHeader}: ${request.asOf}' \\\n`) +
    `  -d ${shellQuote(JSON.stringify(request.input))}\n`
  );
}

export interface ManagementRequest {
  method: string;
  path: string;
  body?: unknown;
}

export function managementCurl(request: ManagementRequest, endpoint: string): string {
  const method =
    request.method === 'GET' || (request.method === 'POST' && request.body !== undefined)
      ? ''
      : ` -X ${request.method}`;
  const body =
    request.body === undefined ? '' : ` \\\n  -d ${shellQuote(JSON.stringify(request.body))}`;
  return (
    `curl${method} -H 'X-Stator-Management: true' ` +
    `${word(`${endpoint.replace(/\/$/, '')}/${request.path}`)}${body}\n`
  );
}
