// Python for boto3: the client with typed values, and the table resource with Python's own.
import type { AttributeValue } from '../value.ts';
import {
  bracketed,
  type Dialect,
  kAsOfHeader,
  members,
  type Request,
  type Where,
} from './request.ts';

// A Python literal; what is beyond printable ASCII is escaped where Python reads it otherwise.
const quote = (text: string): string =>
  `'${[...text].map((character) => kEscapes.get(character) ?? escaped(character)).join('')}'`;
const kEscapes = new Map([
  ["'", "\\'"],
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);
const escaped = (character: string): string => {
  const code = character.codePointAt(0) ?? 0;
  const plain = code >= 0x20 && code !== 0x7f && !(code >= 0x80 && code < 0xa0);
  const surrogate = code >= 0xd800 && code <= 0xdfff;
  const separator = code === 0x2028 || code === 0x2029;
  if (plain && !surrogate && !separator) return character;
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
};

const dict = (entries: [string, string][]): string =>
  bracketed(
    '{',
    entries.map(([name, text]) => `${quote(name)}: ${text}`),
    '}',
    '',
  );
const list = (elements: string[]): string => bracketed('[', elements, ']', '');
const bool = (value: boolean): string => (value ? 'True' : 'False');

function typedDialect(uses: Set<string>): Dialect {
  const bytes = (base64: string): string => {
    uses.add('base64');
    return `base64.b64decode(${quote(base64)})`;
  };
  const value = (one: AttributeValue): string => {
    if ('B' in one) return dict([['B', bytes(one.B)]]);
    if ('BS' in one) return dict([['BS', list(one.BS.map(bytes))]]);
    if ('M' in one)
      return dict([
        ['M', dict(Object.keys(one.M).map((name) => [name, value(one.M[name] as AttributeValue)]))],
      ]);
    if ('L' in one) return dict([['L', list(one.L.map(value))]]);
    if ('BOOL' in one) return dict([['BOOL', bool(one.BOOL)]]);
    if ('NULL' in one) return dict([['NULL', 'True']]);
    if ('S' in one) return dict([['S', quote(one.S)]]);
    if ('N' in one) return dict([['N', quote(one.N)]]);
    if ('SS' in one) return dict([['SS', list(one.SS.map(quote))]]);
    return dict([['NS', list(one.NS.map(quote))]]);
  };
  return { text: quote, bool, none: 'None', object: dict, list, value };
}

function nativeDialect(uses: Set<string>): Dialect {
  const number = (text: string): string => {
    if (/^-?(0|[1-9]\d{0,37})$/.test(text)) return text;
    uses.add('Decimal');
    return `Decimal(${quote(text)})`;
  };
  const bytes = (base64: string): string => {
    uses.add('base64');
    return `base64.b64decode(${quote(base64)})`;
  };
  const set = (elements: string[]) => bracketed('{', elements, '}', '');
  const value = (one: AttributeValue): string => {
    if ('S' in one) return quote(one.S);
    if ('N' in one) return number(one.N);
    if ('B' in one) return bytes(one.B);
    if ('BOOL' in one) return bool(one.BOOL);
    if ('NULL' in one) return 'None';
    if ('M' in one)
      return dict(Object.keys(one.M).map((name) => [name, value(one.M[name] as AttributeValue)]));
    if ('L' in one) return list(one.L.map(value));
    if ('SS' in one) return set(one.SS.map(quote));
    if ('NS' in one) return set(one.NS.map(number));
    return set(one.BS.map(bytes));
  };
  return { text: quote, bool, none: 'None', object: dict, list, value };
}

const snake = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();

const session = (what: string, where: Where): string => {
  const options = [`region_name=${quote(where.region)}`];
  if (where.endpoint !== null) {
    options.unshift(`endpoint_url=${quote(where.endpoint)}`);
    options.push(`aws_access_key_id='any'`, `aws_secret_access_key='any'`);
  }
  return `boto3.${what},\n    ${options.join(',\n    ')},\n)`.replace(',\n', ',\n');
};

const call = (name: string, input: [string, string][]): string =>
  input.length === 0
    ? `${name}()`
    : `${name}(\n${input
        .map(([member, text]) => `    ${member}=${text.replaceAll('\n', '\n    ')},`)
        .join('\n')}\n)`;

const imports = (uses: Set<string>): string =>
  (uses.has('base64') ? 'import base64\n' : '') +
  (uses.has('Decimal') ? 'from decimal import Decimal\n' : '') +
  (uses.size > 0 ? '\n' : '') +
  'import boto3\n\n';

// Makes every request of the client a read as of the moment.
const asOf = (request: Request, client: string): string =>
  request.asOf === undefined
    ? ''
    : `def as_of(params, **_):\n` +
      `    params['headers'][${quote(kAsOfHeader)}] = ${quote(request.asOf)}\n\n` +
      `${client}.meta.events.register('before-call.dynamodb', as_of)\n`;

export function python(request: Request, where: Where): string {
  const uses = new Set<string>();
  const input = members(request.input, typedDialect(uses));
  const service = request.service === 'DynamoDBStreams' ? 'dynamodbstreams' : 'dynamodb';
  return (
    `${imports(uses)}client = ${session(`client('${service}'`, where)}\n${asOf(request, 'client')}` +
    `answer = ${call(`client.${snake(request.operation)}`, input)}\nprint(answer)\n`
  );
}

const kTableMethods = new Set(['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query', 'Scan']);
const kResourceMethods = new Set(['BatchGetItem', 'BatchWriteItem']);

// null: the resource does not have the operation.
export function pythonResource(request: Request, where: Where): string | null {
  const uses = new Set<string>();
  const begin = asOf(request, 'dynamodb.meta.client');
  const resource = `dynamodb = ${session(`resource('dynamodb'`, where)}\n${begin}`;
  const dialect = nativeDialect(uses);
  if (kTableMethods.has(request.operation)) {
    const { TableName, ...rest } = request.input;
    const body = call(`table.${snake(request.operation)}`, members(rest, dialect));
    return (
      `${imports(uses)}${resource}table = dynamodb.Table(${quote(String(TableName))})\n` +
      `answer = ${body}\nprint(answer)\n`
    );
  }
  if (!kResourceMethods.has(request.operation)) return null;
  const body = call(`dynamodb.${snake(request.operation)}`, members(request.input, dialect));
  return `${imports(uses)}${resource}answer = ${body}\nprint(answer)\n`;
}
