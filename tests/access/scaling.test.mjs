// Application Auto Scaling behind access control: signatures, actions, resources and condition keys.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { SignatureV4 } from '@smithy/signature-v4';

import { request, Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'root/secret+1' };
const kAction = (name) => `application-autoscaling:${name}`;
// Reads of tables alone, only with the tag `team`, and everything that describes.
const operator = {
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Action: kAction('Describe*'), Resource: '*' },
    {
      Effect: 'Allow', Action: kAction('RegisterScalableTarget'), Resource: 'arn:aws:application-autoscaling:us-east-1:000000000000:scalable-target/*',
      Condition: {
        StringEquals: {
          'application-autoscaling:service-namespace': 'dynamodb', 'application-autoscaling:scalable-dimension': 'dynamodb:table:ReadCapacityUnits',
          'aws:RequestTag/team': 'db',
        },
      },
    },
    { Effect: 'Allow', Action: kAction('DeregisterScalableTarget'), Resource: '*', Condition: { StringEquals: { 'aws:ResourceTag/team': 'db' } } },
  ],
};
const keys = { accessKeyId: 'AKIAOPERATOR00000000', secretAccessKey: crypto.randomBytes(20).toString('hex') };

class Sha256 {
  constructor(secret) { this.hash = secret ? crypto.createHmac('sha256', secret) : crypto.createHash('sha256'); }
  update(data) { this.hash.update(data); }
  async digest() { return new Uint8Array(this.hash.digest()); }
}

let server, directory;
before(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-access-'));
  fs.writeFileSync(path.join(directory, 'operator.secret'), `${keys.secretAccessKey}\n`, { mode: 0o600 });
  fs.writeFileSync(path.join(directory, 'operator.json'), JSON.stringify(operator));
  fs.writeFileSync(path.join(directory, 'stator.toml'),
    `[[users]]\nname = "operator"\naccess-key-id = "${keys.accessKeyId}"\nsecret-access-key-file = "operator.secret"\npolicy-files = ["operator.json"]\n`);
  server = await Server.start({
    args: ['--in-memory', '--config', path.join(directory, 'stator.toml'), '--auth=enforce'],
    env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey },
  });
  const made = await call(kRoot, 'dynamodb', 'DynamoDB_20120810.CreateTable', {
    TableName: 'scaled', ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  });
  assert.equal(made.status, 200, made.text);
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

async function call(credentials, service, target, body, change = {}) {
  const url = new URL(server.endpoint);
  const text = JSON.stringify(body);
  const signer = new SignatureV4({ service, region: 'us-east-1', credentials, sha256: Sha256 });
  const signed = await signer.sign({
    method: 'POST', protocol: 'http:', hostname: url.hostname, port: url.port, path: '/', query: {},
    headers: { host: url.host, 'content-type': `application/x-amz-json-1.${service === 'dynamodb' ? 0 : 1}`, 'x-amz-target': target }, body: text,
  });
  return request(server.endpoint, { headers: signed.headers, body: text, ...change });
}
const scaling = (credentials, operation, body, change) => call(credentials, 'application-autoscaling', `AnyScaleFrontendService.${operation}`, body, change);
const at = (kind) => ({ ServiceNamespace: 'dynamodb', ResourceId: 'table/scaled', ScalableDimension: `dynamodb:table:${kind}CapacityUnits` });
const refused = (reply, type, text = '') => {
  assert.equal(reply.status, 400, reply.text);
  assert.ok(reply.json().__type.endsWith(type), reply.text);
  assert.ok(reply.text.includes(text), reply.text);
};

test('the operator may do what the policy says, and no more', async () => {
  const range = { MinCapacity: 1, MaxCapacity: 9 };
  const register = (who, kind, more) => scaling(who, 'RegisterScalableTarget', { ...at(kind), ...range, ...more });
  refused(await register(keys, 'Read'), 'AccessDeniedException', 'is not authorized to perform: application-autoscaling:RegisterScalableTarget on resource: ');
  refused(await register(keys, 'Write', { Tags: { team: 'db' } }), 'AccessDeniedException');
  const registered = await register(keys, 'Read', { Tags: { team: 'db' } });
  assert.equal(registered.status, 200, registered.text);
  assert.equal((await register(kRoot, 'Write')).status, 200);
  const described = await scaling(keys, 'DescribeScalableTargets', { ServiceNamespace: 'dynamodb' });
  assert.equal(described.json().ScalableTargets.length, 2);
  refused(await scaling(keys, 'ListTagsForResource', { ResourceARN: registered.json().ScalableTargetARN }), 'AccessDeniedException');
  refused(await scaling(keys, 'PutScalingPolicy', {
    ...at('Read'), PolicyName: 'p',
    TargetTrackingScalingPolicyConfiguration: { TargetValue: 70, PredefinedMetricSpecification: { PredefinedMetricType: 'DynamoDBReadCapacityUtilization' } },
  }), 'AccessDeniedException');
  refused(await scaling(keys, 'DeregisterScalableTarget', at('Write')), 'AccessDeniedException');
  assert.equal((await scaling(keys, 'DeregisterScalableTarget', at('Read'))).status, 200);
});

test('a call that is changed, signed for another service, or not signed is refused', async () => {
  const body = { ServiceNamespace: 'dynamodb' };
  refused(await scaling(kRoot, 'DescribeScalableTargets', body, { body: '{"ServiceNamespace":"dynamodb" }' }), 'InvalidSignatureException');
  refused(await call(kRoot, 'dynamodb', 'AnyScaleFrontendService.DescribeScalableTargets', body), 'InvalidSignatureException');
  refused(await request(server.endpoint, { headers: { 'x-amz-target': 'AnyScaleFrontendService.DescribeScalableTargets' }, body: '{}' }), 'MissingAuthenticationTokenException');
});
