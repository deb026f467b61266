// Where the server decides differently from iam-simulate, and why. Each case is asked of both, so that a difference that
// goes away is noticed. The random pairs of compare.test.mjs leave these out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSimulation } from '@cloud-copilot/iam-simulate';
import { other, own, simulation } from './generate.mjs';
import { evaluate } from './tool.mjs';

const alice = { kind: 'user', account: own, arn: `arn:aws:iam::${own}:user/alice`, issuer: '', id: 'AIDAALICE00000000000' };
const session = { kind: 'role', account: own, arn: `arn:aws:sts::${own}:assumed-role/app/s1`, issuer: `arn:aws:iam::${own}:role/app`, id: 'AROAAPP0000000000000' };
const root = { kind: 'root', account: own, arn: `arn:aws:iam::${own}:root`, issuer: '', id: own };
const table = `arn:aws:dynamodb:eu-central-1:${own}:table/Music`;

const request = (more) => ({
  principal: alice, action: 'dynamodb:GetItem', resource: table, resourceAccount: own,
  context: { 'aws:PrincipalArn': `arn:aws:iam::${own}:user/alice` }, identity: [], ...more,
});
const when = (condition, context = {}, effect = 'Allow') => request({
  context,
  identity: [{ Version: '2012-10-17', Statement: [
    { Effect: effect, Action: '*', Resource: '*', Condition: condition },
    ...(effect === 'Deny' ? [{ Effect: 'Allow', Action: '*', Resource: '*' }] : []),
  ] }],
});
const everything = { Version: '2012-10-17', Statement: { Effect: 'Allow', Action: '*', Resource: '*' } };
const grant = (principal, more = {}) => ({ Version: '2012-10-17', Statement: { Effect: 'Allow', Principal: { AWS: principal }, Action: 'dynamodb:GetItem', Resource: '*', ...more } });

const cases = [
  ['a variable without a value: documented as unequal to everything, so a negated operator holds',
    when({ StringNotEquals: { 'aws:UserAgent': '${aws:username}' } }, { 'aws:UserAgent': 'x' }), true, 'ImplicitlyDenied'],
  ['ForAnyValue with IfExists and a missing key: documented as true for every IfExists',
    when({ 'ForAnyValue:StringEqualsIfExists': { 'dynamodb:LeadingKeys': 'x' } }), true, 'ImplicitlyDenied'],
  ['epoch seconds compared with a date: iam-simulate takes the seconds for milliseconds',
    when({ DateGreaterThan: { 'aws:CurrentTime': '1700000000' } }, { 'aws:CurrentTime': '1970-02-01T00:00:00Z' }), false, 'Allowed'],
  ['0.0.0.0/0: a shift by 32 bits leaves iam-simulate with a mask of /32',
    when({ IpAddress: { 'aws:SourceIp': '0.0.0.0/0' } }, { 'aws:SourceIp': '10.0.0.1' }), true, 'ImplicitlyDenied'],
  ['one IPv4 address and a caller with IPv6: outside, as for ranges',
    when({ NotIpAddress: { 'aws:SourceIp': '10.0.0.1' } }, { 'aws:SourceIp': '2001:db8::1' }), true, 'ImplicitlyDenied'],
  ['one IPv6 address in another spelling is the same address',
    when({ IpAddress: { 'aws:SourceIp': '2001:db8:0::1' } }, { 'aws:SourceIp': '2001:db8::1' }), true, 'ImplicitlyDenied'],
  ['numbers with text behind them are no numbers',
    when({ NumericEquals: { 'aws:PrincipalTag/level': '12' } }, { 'aws:PrincipalTag/level': '12abc' }), false, 'Allowed'],
  ['numbers are decimal and exact',
    when({ NumericLessThan: { 'aws:PrincipalTag/level': '9007199254740993' } }, { 'aws:PrincipalTag/level': '9007199254740992' }), true, 'ImplicitlyDenied'],
  ['variables are plain text in documents of 2008',
    { ...when({ StringEquals: { 'aws:UserAgent': '${aws:userid}' } }, { 'aws:UserAgent': 'x', 'aws:userid': 'x' }),
      identity: [{ Version: '2008-10-17', Statement: { Effect: 'Allow', Action: '*', Resource: '*', Condition: { StringEquals: { 'aws:UserAgent': '${aws:userid}' } } } }] }, false, 'Allowed'],
  ['a session named by its ARN in a resource policy is not limited by the implicit denial of its session policy',
    request({ principal: session, resourcePolicy: grant(session.arn), session: [{ Version: '2012-10-17', Statement: { Effect: 'Allow', Action: 'dynamodb:PutItem', Resource: '*' } }] }), true, 'ImplicitlyDenied'],
  ['NotPrincipal with Deny must name the caller beside its account',
    request({ identity: [everything], resourcePolicy: { Version: '2012-10-17', Statement: { Effect: 'Deny', NotPrincipal: { AWS: own }, Action: 'dynamodb:GetItem', Resource: '*' } } }), false, 'Allowed'],
  ['the root user needs no identity policy', request({ principal: root }), true, 'ImplicitlyDenied'],
];

for (const [name, asked, allowed, theirs] of cases) {
  test(name, async () => {
    const [answer] = evaluate([asked]);
    assert.equal(answer.error, undefined);
    assert.equal(answer.allowed, allowed, JSON.stringify(answer));
    const result = await runSimulation(simulation(asked), {});
    assert.equal(result.overallResult, theirs, JSON.stringify(result.errors));
    assert.notEqual(theirs === 'Allowed', allowed, 'no difference any more: move the case to compare.test.mjs');
  });
}

// Documents that iam-simulate takes and the server refuses, so that no line of a Deny is void.
const refused = [
  ['a number that is none', { NumericEquals: { 'aws:MultiFactorAuthAge': 'many' } }, /not a number/],
  ['a date that is none', { DateLessThan: { 'aws:CurrentTime': 'yesterday' } }, /not a date/],
  ['a range that is none', { NotIpAddress: { 'aws:SourceIp': '10.0.0.0/33' } }, /not an IP address/],
  ['a truth value that is none', { Bool: { 'aws:SecureTransport': 'yes' } }, /not true or false/],
  ['an ARN that is none', { ArnNotLike: { 'aws:PrincipalArn': '*' } }, /not an ARN/],
];
for (const [name, condition, text] of refused) {
  test(`refused: ${name}`, () => assert.match(evaluate([when(condition, {}, 'Deny')])[0].error, text));
}

// Rules without a difference that random pairs meet seldom.
test('a user named by a resource policy of another account needs an identity policy too', () => {
  const carol = { kind: 'user', account: other, arn: `arn:aws:iam::${other}:user/carol`, issuer: '', id: 'AIDACAROL00000000000' };
  const asked = [[], [everything]].map((identity) => request({ principal: carol, identity, resourcePolicy: grant(carol.arn) }));
  assert.deepEqual(evaluate(asked).map((a) => [a.allowed, a.type]), [[false, 'identity-based policy'], [true, 'resource-based policy']]);
});

test('a statement whose NotResource has a variable without a value does not apply', async () => {
  const asked = request({ context: {}, identity: [{ Version: '2012-10-17', Statement: { Effect: 'Allow', Action: '*', NotResource: `arn:aws:dynamodb:*:*:table/\${aws:username}` } }] });
  assert.equal(evaluate([asked])[0].allowed, false);
  assert.equal((await runSimulation(simulation(asked), {})).overallResult, 'ImplicitlyDenied');
});

test("a '*' that a variable brings in is no wildcard", async () => {
  const asked = when({ StringLike: { 'aws:UserAgent': '${aws:PrincipalTag/team}' } }, { 'aws:UserAgent': 'blue', 'aws:PrincipalTag/team': 'b*e' });
  assert.equal(evaluate([asked])[0].allowed, false);
  assert.equal((await runSimulation(simulation(asked), {})).overallResult, 'ImplicitlyDenied');
});
