// JavaScript for the AWS SDK, version 3: the client with typed values, and the document client.
import type { AttributeValue, Item } from '../value.ts';
import {
  bracketed,
  type Dialect,
  kAsOfHeader,
  members,
  type Request,
  type Where,
} from './request.ts';

const quote = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');

const nameOf = (name: string): string => {
  // A computed name, because `__proto__: x` sets the prototype.
  if (name === '__proto__') return "['__proto__']";
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
};

const object = (entries: [string, string][]): string =>
  bracketed(
    '{',
    entries.map(([name, text]) => `${nameOf(name)}: ${text}`),
    '}',
  );
const list = (elements: string[]): string => bracketed('[', elements, ']', '');
const buffer = (base64: string): string => `Buffer.from(${quote(base64)}, 'base64')`;

const kTyped: Dialect = {
  text: quote,
  bool: String,
  none: 'null',
  object,
  list,
  value: typed,
};

function typed(value: AttributeValue): string {
  if ('B' in value) return object([['B', buffer(value.B)]]);
  if ('BS' in value) return object([['BS', list(value.BS.map(buffer))]]);
  if ('M' in value) return object([['M', typedItem(value.M)]]);
  if ('L' in value) return object([['L', list(value.L.map(typed))]]);
  if ('BOOL' in value) return object([['BOOL', String(value.BOOL)]]);
  if ('NULL' in value) return object([['NULL', 'true']]);
  if ('S' in value) return object([['S', quote(value.S)]]);
  if ('N' in value) return object([['N', quote(value.N)]]);
  if ('SS' in value) return object([['SS', list(value.SS.map(quote))]]);
  return object([['NS', list(value.NS.map(quote))]]);
}

const typedItem = (item: Item): string =>
  object(Object.keys(item).map((name) => [name, typed(item[name] as AttributeValue)]));

// The number as a literal if JavaScript keeps all of it, else with NumberValue.
function number(text: string, uses: Set<string>): string {
  if (/^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(text) && String(Number(text)) === text) return text;
  uses.add('NumberValue');
  return `NumberValue.from(${quote(text)})`;
}

function documents(uses: Set<string>): Dialect {
  const value = (one: AttributeValue): string => {
    if ('S' in one) return quote(one.S);
    if ('N' in one) return number(one.N, uses);
    if ('B' in one) return buffer(one.B);
    if ('BOOL' in one) return String(one.BOOL);
    if ('NULL' in one) return 'null';
    if ('M' in one)
      return object(Object.keys(one.M).map((name) => [name, value(one.M[name] as AttributeValue)]));
    if ('L' in one) return list(one.L.map(value));
    if ('SS' in one) return `new Set(${list(one.SS.map(quote))})`;
    if ('NS' in one) return `new Set(${list(one.NS.map((text) => number(text, uses)))})`;
    return `new Set(${list(one.BS.map(buffer))})`;
  };
  return { text: quote, bool: String, none: 'null', object, list, value };
}

const inputOf = (request: Request, dialect: Dialect): string => {
  const all = members(request.input, dialect).map(([name, text]) => `${nameOf(name)}: ${text}`);
  return all.length === 0 ? '{}' : `{\n${all.map(indent).join(',\n')},\n}`;
};

const indent = (text: string): string => `  ${text.replaceAll('\n', '\n  ')}`;

const clientOptions = (where: Where): string =>
  where.endpoint === null
    ? `{ region: ${quote(where.region)} }`
    : `{\n  endpoint: ${quote(where.endpoint)},\n  region: ${quote(where.region)},\n` +
      `  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },\n}`;

// Makes every request of the client a read as of the moment.
const asOf = (request: Request): string =>
  request.asOf === undefined
    ? ''
    : `client.middlewareStack.add((next) => (args) => {\n` +
      `  args.request.headers[${quote(kAsOfHeader)}] = ${quote(request.asOf)};\n` +
      `  return next(args);\n}, { step: 'build' });\n`;

export function javascript(request: Request, where: Where): string {
  const streams = request.service === 'DynamoDBStreams';
  const client = streams ? 'DynamoDBStreamsClient' : 'DynamoDBClient';
  const command = `${request.operation}Command`;
  return (
    `import { ${client}, ${command} } from '@aws-sdk/client-dynamodb${streams ? '-streams' : ''}';\n\n` +
    `const client = new ${client}(${clientOptions(where)});\n${asOf(request)}` +
    `const answer = await client.send(new ${command}(${inputOf(request, kTyped)}));\n` +
    `console.log(answer);\n`
  );
}

// Commands of the document client are named after what they do, without Item.
const kDocumentCommands: Record<string, string> = {
  GetItem: 'GetCommand',
  PutItem: 'PutCommand',
  UpdateItem: 'UpdateCommand',
  DeleteItem: 'DeleteCommand',
  Query: 'QueryCommand',
  Scan: 'ScanCommand',
  BatchGetItem: 'BatchGetCommand',
  BatchWriteItem: 'BatchWriteCommand',
  TransactGetItems: 'TransactGetCommand',
  TransactWriteItems: 'TransactWriteCommand',
  ExecuteStatement: 'ExecuteStatementCommand',
  BatchExecuteStatement: 'BatchExecuteStatementCommand',
  ExecuteTransaction: 'ExecuteTransactionCommand',
};

// null: the document client does not have the operation.
export function javascriptDocuments(request: Request, where: Where): string | null {
  const command = kDocumentCommands[request.operation];
  if (command === undefined) return null;
  const uses = new Set<string>();
  const input = inputOf(request, documents(uses));
  const names = ['DynamoDBDocumentClient', command, ...uses];
  return (
    `import { DynamoDBClient } from '@aws-sdk/client-dynamodb';\n` +
    `import { ${names.join(', ')} } from '@aws-sdk/lib-dynamodb';\n\n` +
    `const client = DynamoDBDocumentClient.from(new DynamoDBClient(${clientOptions(where)}));\n` +
    asOf(request) +
    `const answer = await client.send(new ${command}(${input}));\n` +
    `console.log(answer);\n`
  );
}
