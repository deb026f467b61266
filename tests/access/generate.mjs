// Random requests with policies, made from a seed so that about half of the statements fit their request.

import { mulberry32 } from '../diff/generate/random.mjs';

export function randomFrom(seed) {
  const next = mulberry32(seed);
  const below = (n) => Math.floor(next() * n);
  return { below, chance: (p) => next() < p, pick: (list) => list[below(list.length)] };
}

export const own = '111122223333';
export const other = '444455556666';

const principals = [
  { kind: 'user', account: own, arn: `arn:aws:iam::${own}:user/alice`, issuer: '', id: 'AIDAALICE00000000000', userid: 'AIDAALICE00000000000', username: 'alice' },
  { kind: 'user', account: own, arn: `arn:aws:iam::${own}:user/team/bob`, issuer: '', id: 'AIDABOB0000000000000', userid: 'AIDABOB0000000000000', username: 'bob' },
  { kind: 'role', account: own, arn: `arn:aws:sts::${own}:assumed-role/app/s1`, issuer: `arn:aws:iam::${own}:role/app`, id: 'AROAAPP0000000000000', userid: 'AROAAPP0000000000000:s1' },
  { kind: 'user', account: other, arn: `arn:aws:iam::${other}:user/carol`, issuer: '', id: 'AIDACAROL00000000000', userid: 'AIDACAROL00000000000', username: 'carol' },
  { kind: 'role', account: other, arn: `arn:aws:sts::${other}:assumed-role/batch/job`, issuer: `arn:aws:iam::${other}:role/batch`, id: 'AROABATCH00000000000', userid: 'AROABATCH00000000000:job' },
];

const table = `arn:aws:dynamodb:eu-central-1:${own}:table`;
const resources = {
  table: [`${table}/Music`, `${table}/alice`, `${table}/team.Orders-1`],
  index: [`${table}/Music/index/by-artist`],
  stream: [`${table}/Music/stream/2026-01-31T12:00:00.000`],
  backup: [`${table}/Music/backup/0157-abc`],
};

const keysOf = {
  GetItem: ['LeadingKeys', 'Attributes', 'Select', 'ReturnConsumedCapacity', 'EnclosingOperation'],
  PutItem: ['LeadingKeys', 'Attributes', 'ReturnValues', 'ReturnConsumedCapacity', 'EnclosingOperation'],
  UpdateItem: ['LeadingKeys', 'Attributes', 'ReturnValues', 'ReturnConsumedCapacity', 'EnclosingOperation'],
  DeleteItem: ['LeadingKeys', 'Attributes', 'ReturnValues', 'ReturnConsumedCapacity', 'EnclosingOperation'],
  BatchGetItem: ['LeadingKeys', 'Attributes', 'Select', 'ReturnConsumedCapacity'],
  Query: ['LeadingKeys', 'Attributes', 'Select', 'ReturnConsumedCapacity', 'ReturnValues'],
  Scan: ['Attributes', 'Select', 'ReturnConsumedCapacity', 'ReturnValues'],
  PartiQLSelect: ['LeadingKeys', 'Attributes', 'Select', 'EnclosingOperation', 'FullTableScan'],
};
const actions = [
  ...Object.keys(keysOf).map((name) => ({ name, type: 'table' })),
  { name: 'Query', type: 'index' }, { name: 'DescribeTable', type: 'table' }, { name: 'DeleteTable', type: 'table' },
  { name: 'GetRecords', type: 'stream' }, { name: 'DescribeStream', type: 'stream' }, { name: 'DeleteBackup', type: 'backup' },
];

// Values that requests have for a key, and that policies compare it with.
const strings = {
  'dynamodb:LeadingKeys': ['alice', 'bob', 'carol', 'k#1', 'K#1', 'a*b'],
  'dynamodb:Attributes': ['pk', 'title', 'Title', 'secret'],
  'dynamodb:Select': ['ALL_ATTRIBUTES', 'SPECIFIC_ATTRIBUTES', 'COUNT'],
  'dynamodb:ReturnValues': ['NONE', 'ALL_OLD', 'UPDATED_NEW'],
  'dynamodb:ReturnConsumedCapacity': ['NONE', 'TOTAL'],
  'dynamodb:EnclosingOperation': ['TransactGetItems', 'TransactWriteItems'],
  'aws:PrincipalTag/team': ['blue', 'Blue', 'red', 'b*e'],
  'aws:ResourceTag/team': ['blue', 'red', 'a.b'],
  'aws:UserAgent': ['aws-cli/2', 'Boto3/1'],
  'aws:RequestedRegion': ['eu-central-1', 'us-east-1'],
};
const isList = new Set(['dynamodb:LeadingKeys', 'dynamodb:Attributes']);
const others = {
  Numeric: { 'aws:MultiFactorAuthAge': ['0', '5', '5.50', '300', '-1', '1000000000000'], 'aws:PrincipalTag/level': ['1', '2', '10', 'x'] },
  Date: {
    'aws:CurrentTime': ['2026-01-31T12:00:00Z', '2026-01-31T12:00:01Z', '2025-12-31T23:59:59Z', '2026-01-31T13:00:00+01:00'],
    'aws:TokenIssueTime': ['2026-01-31T11:00:00Z', '2026-01-30T11:00:00.5Z'],
    'aws:EpochTime': ['1769860800', '1769860801', '1'],
  },
  Bool: { 'aws:SecureTransport': ['true', 'false'], 'aws:ViaAWSService': ['false'], 'aws:MultiFactorAuthPresent': ['true'], 'dynamodb:FullTableScan': ['true', 'false'], 'aws:PrincipalTag/flag': ['true', 'maybe'] },
  Binary: { 'aws:PrincipalTag/blob': ['AAEC', 'AAED', 'aGVsbG8='] },
  Ip: { 'aws:SourceIp': ['10.1.2.3', '10.1.2.4', '192.168.0.1', '2001:db8::1'] },
  Arn: { 'aws:PrincipalArn': [], 'aws:SourceArn': [`${table}/Music`, 'arn:aws:sns:eu-central-1:1:t', 'no-arn'] },
};
export const everyKey = [...Object.keys(strings), ...Object.values(others).flatMap((o) => Object.keys(o))];

const bases = [
  'StringEquals', 'StringNotEquals', 'StringEqualsIgnoreCase', 'StringNotEqualsIgnoreCase', 'StringLike', 'StringNotLike',
  'NumericEquals', 'NumericNotEquals', 'NumericLessThan', 'NumericLessThanEquals', 'NumericGreaterThan', 'NumericGreaterThanEquals',
  'DateEquals', 'DateNotEquals', 'DateLessThan', 'DateLessThanEquals', 'DateGreaterThan', 'DateGreaterThanEquals',
  'Bool', 'BinaryEquals', 'IpAddress', 'NotIpAddress', 'ArnEquals', 'ArnNotEquals', 'ArnLike', 'ArnNotLike', 'Null',
];
export const everyOperator = bases.flatMap((base) => ['', 'ForAllValues:', 'ForAnyValue:'].flatMap((set) =>
  base === 'Null' ? [set + base] : [set + base, `${set + base}IfExists`]))
  // iam-simulate ignores IfExists there; see differences.test.mjs.
  .filter((operator) => !/ForAnyValue.*IfExists/.test(operator));

const family = (operator) => /Null/.test(operator) ? 'Null'
  : /(Numeric|Date|Bool|Binary|Ip|Arn|String)/.exec(operator.replace(/IfExists|ForAllValues|ForAnyValue/g, ''))[1];

// The keys that a request of an action may have.
function contextOf(random, principal, action) {
  const context = {
    'aws:PrincipalArn': principal.kind === 'role' ? principal.issuer : principal.arn,
    'aws:PrincipalAccount': principal.account, 'aws:userid': principal.userid,
  };
  if (principal.username) context['aws:username'] = principal.username;
  const allowed = new Set((keysOf[action.name] ?? []).map((key) => `dynamodb:${key}`));
  const offer = (key, values) => {
    if (key.startsWith('dynamodb:') && !allowed.has(key)) return;
    if (values.length === 0 || !random.chance(0.7)) return;
    context[key] = isList.has(key) ? Array.from({ length: random.below(3) + 1 }, () => random.pick(values)) : random.pick(values);
  };
  for (const [key, values] of Object.entries(strings)) offer(key, values);
  for (const group of Object.values(others)) for (const [key, values] of Object.entries(group)) offer(key, values);
  return context;
}

const pattern = (random, text) => {
  const at = random.below(text.length + 1);
  return random.pick([text, '*', text.slice(0, at) + '*', '*' + text.slice(at), text.slice(0, at) + '?' + text.slice(at + 1)]);
};

function valueFor(random, operator, kind, key, context) {
  const pool = kind === 'Arn' && key === 'aws:PrincipalArn' ? principals.map((p) => p.issuer || p.arn) : strings[key] ?? Object.values(others).find((o) => key in o)[key];
  const given = [context[key] ?? []].flat();
  let value = given.length > 0 && random.chance(0.5) ? random.pick(given) : random.pick(pool);
  const negated = /Not/.test(operator);
  if (kind === 'String') {
    if (random.chance(0.1)) value = value.toUpperCase();
    if (/Like/.test(operator)) value = pattern(random, value);
    // An absent variable under a negated operator is a known difference.
    if (random.chance(0.15)) value = random.pick(negated ? ["${aws:PrincipalAccount, 'x'}", '${aws:userid}'] : ['${aws:username}', "${aws:username, 'nobody'}", 'k#${$}', '${aws:PrincipalTag/team}', 'a${*}b']);
    return value;
  }
  if (kind === 'Numeric') return /^-?[0-9.]+$/.test(value) ? value : '2';
  if (kind === 'Bool') return random.chance(0.1) ? '${aws:PrincipalTag/flag}' : /true|false/.test(value) ? random.pick([value, value.toUpperCase()]) : 'true';
  // A single IPv4 address against an IPv6 one is a known difference.
  if (kind === 'Ip') return random.pick(['10.0.0.0/8', '10.1.2.0/24', '10.1.2.3/32', '192.168.0.0/16', '0.0.0.0/1', '2001:db8::/32', '::/0']);
  if (kind === 'Arn') {
    if (!value.startsWith('arn:')) value = `${table}/Music`;
    const parts = value.split(':');
    const i = 1 + random.below(5);
    if (random.chance(0.4)) parts[i] = i === 5 ? pattern(random, parts.slice(5).join(':')) : random.pick(['*', parts[i]]);
    return (i === 5 ? parts.slice(0, 6) : parts).join(':');
  }
  return value;
}

export function condition(random, context, operator = random.pick(everyOperator)) {
  const kind = family(operator);
  const keys = kind === 'Null' ? everyKey : kind === 'String' ? Object.keys(strings) : Object.keys(others[kind]);
  let key = random.pick(keys);
  // Lists and set operators belong together, mostly.
  if (kind === 'String' && /^For/.test(operator) && random.chance(0.6)) key = random.pick([...isList]);
  const values = Array.from({ length: random.chance(0.6) ? 1 : 2 + random.below(2) }, () =>
    kind === 'Null' ? random.pick(['true', 'false', 'TRUE']) : valueFor(random, operator, kind, key, context));
  const name = random.chance(0.1) ? key.toLowerCase() : key;
  return { operator, key, block: { [operator]: { [name]: values.length === 1 && random.chance(0.7) ? values[0] : values } } };
}

const merge = (blocks) => {
  const merged = {};
  for (const block of blocks) for (const [operator, keys] of Object.entries(block)) merged[operator] = { ...merged[operator], ...keys };
  return merged;
};

function statement(random, request, context, { principal, resource = true, allow = random.chance(0.8) } = {}) {
  const out = { Effect: allow ? 'Allow' : 'Deny' };
  if (principal) Object.assign(out, principal);
  const [service, name] = request.action.split(':');
  const fitting = [request.action, `${service}:*`, `${service}:${name.slice(0, 3)}*`, `${service}:${name.toLowerCase()}`, `${service}:?${name.slice(1)}`, '*'];
  const list = (values) => (values.length === 1 && random.chance(0.5) ? values[0] : values);
  const action = random.chance(allow ? 0.9 : 0.6) ? random.pick(principal ? fitting.slice(0, 3) : fitting) : random.pick(['dynamodb:DeleteItem', 'dynamodb:List*', ...(principal ? [] : ['s3:*'])]);
  out[random.chance(0.08) ? 'NotAction' : 'Action'] = list(random.chance(0.3) ? [action, 'dynamodb:UpdateTable'] : [action]);
  if (resource) {
    const parts = request.resource.split(':');
    const last = parts.slice(5).join(':');
    const cut = last.indexOf('/') + 1;
    const path = random.pick([last, `${last.slice(0, cut)}*`, `${last.slice(0, -1)}?`, `${last.slice(0, cut)}\${aws:username}`, `${last.slice(0, cut)}\${aws:PrincipalTag/team}*`, 'table/Nothing']);
    const arn = [parts[0], parts[1], parts[2], random.pick([parts[3], '*', 'eu-*']), random.pick([parts[4], '*', other]), random.chance(0.7) ? random.pick([last, `${last.slice(0, cut)}*`]) : path].join(':');
    out[random.chance(0.08) ? 'NotResource' : 'Resource'] = list(random.chance(0.5) ? ['*'] : random.chance(0.3) ? [arn, `${table}/Nothing`] : [arn]);
  }
  const lines = random.chance(0.5) ? [] : Array.from({ length: 1 + random.below(2) }, () => condition(random, context).block);
  if (lines.length > 0) out.Condition = merge(lines);
  return out;
}

// iam-simulate replaces variables in documents of 2008 too.
const document = (random, statements) => ({ Version: random.chance(0.95) || JSON.stringify(statements).includes('${') ? '2012-10-17' : '2008-10-17', Statement: statements.length === 1 && random.chance(0.3) ? statements[0] : statements });
const several = (random, make) => Array.from({ length: 1 + random.below(3) }, make);

// A statement of a resource's policy names some principal.
function whom(random, principal) {
  const names = [principal.arn, principal.issuer || principal.arn, principal.account, `arn:aws:iam::${principal.account}:root`, `arn:aws:iam::${other}:user/eve`];
  const name = random.pick(names);
  return { Principal: { AWS: random.chance(0.2) ? [name, `arn:aws:iam::${other}:user/eve`] : name } };
}

// One Allow of everything under one condition: its outcome is the condition's.
export function single(random) {
  const principal = principals[random.below(3)];
  const action = random.pick(actions);
  const request = { principal, action: `dynamodb:${action.name}`, resource: random.pick(resources[action.type]), resourceAccount: own };
  request.context = contextOf(random, principal, action);
  const line = condition(random, request.context);
  request.identity = [{ Version: '2012-10-17', Statement: [{ Sid: 'One', Effect: 'Allow', Action: '*', Resource: '*', Condition: line.block }] }];
  return { request, line };
}

// Policies of all kinds.
export function full(random) {
  const action = random.pick(actions);
  // Backups have no policy of their own, so that other accounts cannot reach them.
  const principal = action.type === 'backup' ? principals[random.below(3)] : random.pick(principals);
  const request = { principal, action: `dynamodb:${action.name}`, resource: random.pick(resources[action.type]), resourceAccount: own };
  const context = (request.context = contextOf(random, principal, action));
  request.identity = Array.from({ length: random.below(3) + 1 }, () => document(random, several(random, () => statement(random, request, context))));
  if (principal.account !== own || (action.type !== 'backup' && random.chance(0.3))) {
    request.resourcePolicy = document(random, several(random, () => statement(random, request, context, { principal: whom(random, principal) })));
  }
  if (random.chance(0.25)) request.boundary = document(random, several(random, () => statement(random, request, context)));
  // A grant to the session itself beside a session policy is a known difference.
  const direct = JSON.stringify(request.resourcePolicy ?? '').includes('assumed-role');
  if (principal.kind === 'role' && !direct && random.chance(0.3)) request.session = [document(random, several(random, () => statement(random, request, context)))];
  return request;
}

// Returns a request in the form of iam-simulate.
export function simulation(request) {
  return {
    request: { principal: request.principal.arn, action: request.action, resource: { resource: request.resource, accountId: request.resourceAccount }, contextVariables: request.context },
    identityPolicies: request.identity.map((policy, i) => ({ name: `identity${i}`, policy })),
    serviceControlPolicies: [], resourceControlPolicies: [],
    resourcePolicy: request.resourcePolicy ?? request.trust,
    permissionBoundaryPolicies: request.boundary && [{ name: 'boundary', policy: request.boundary }],
    sessionPolicy: request.session?.[0],
  };
}

// AssumeRole of a role with a trust policy.
export function trusting(random) {
  const principal = random.pick(principals);
  const request = { principal, action: 'sts:AssumeRole', resource: `arn:aws:iam::${own}:role/target`, resourceAccount: own };
  const context = (request.context = {
    'aws:PrincipalArn': principal.kind === 'role' ? principal.issuer : principal.arn,
    'aws:PrincipalAccount': principal.account, 'aws:userid': principal.userid, 'sts:RoleSessionName': random.pick(['deploy', 'alice']),
  });
  if (principal.username) context['aws:username'] = principal.username;
  if (random.chance(0.7)) context['sts:ExternalId'] = random.pick(['x-1', 'x-2']);
  const condition = () => random.pick([
    {}, ...[
      { StringEquals: { 'sts:ExternalId': ['x-1', 'x-3'] } }, { StringLike: { 'sts:RoleSessionName': '${aws:username}' } },
      { StringNotEquals: { 'sts:ExternalId': 'x-2' } }, { Null: { 'sts:ExternalId': 'false' } },
    ].map((Condition) => ({ Condition })),
  ]);
  const line = (allow, more) => ({ Effect: allow ? 'Allow' : 'Deny', ...more, Action: random.pick(['sts:AssumeRole', 'sts:*', 'sts:Assume*', 'sts:TagSession']), ...condition() });
  request.trust = { Version: '2012-10-17', Statement: several(random, () => line(random.chance(0.85), whom(random, principal))) };
  request.identity = random.chance(0.7) ? [{ Version: '2012-10-17', Statement: several(random, () => line(random.chance(0.85), { Resource: random.pick(['*', request.resource, `arn:aws:iam::${own}:role/tar*`, `arn:aws:iam::${own}:role/none`]) })) }] : [];
  return request;
}
