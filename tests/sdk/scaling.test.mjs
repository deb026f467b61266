// Application Auto Scaling's API in front of the server's auto scaling, on a manual clock.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { N, S, clientFor, operationsOf } from './clients.mjs';
import { Server, isStator, onCluster, request, signedHeaders } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const PREFIX = 'AnyScaleFrontendService.';

describe('Application Auto Scaling', { skip: own ? false : 'needs a server of its own' }, () => {
  let server;
  let client;
  let ddb;
  const start = async (dataDir) => {
    server = await Server.start({ args: ['--clock=manual', '--clock-start=2026-11-21T00:00:30Z'], dataDir });
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
  };
  before(() => start());
  after(async () => {
    client.destroy();
    await server.stop();
  });

  const raw = (operation, body, headers = {}) => request(server.endpoint, {
    headers: { ...signedHeaders('-', { 'X-Amz-Target': PREFIX + operation, 'Content-Type': 'application/x-amz-json-1.1' }), ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const call = async (operation, body) => {
    const reply = await raw(operation, body);
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.headers['content-type'], 'application/x-amz-json-1.1');
    return reply.json();
  };
  const fails = async (operation, body, type, text) => {
    const reply = await raw(operation, body);
    assert.equal(reply.status, 400, reply.text);
    const answer = reply.json();
    assert.equal(answer.__type.split('#').pop(), type, reply.text);
    const message = answer.Message ?? answer.message ?? '';
    assert.ok(text instanceof RegExp ? text.test(message) : message.includes(text), `${message}\nexpected: ${text}`);
  };
  const advance = (by) => request(server.endpoint, {
    path: '/_stator/clock', headers: { 'X-Stator-Management': 'true' }, body: JSON.stringify({ advance: by }),
  });
  const rules = async (table) => (await request(server.endpoint, {
    method: 'GET', path: `/_stator/tables/${table}/auto-scaling`, headers: { 'X-Stator-Management': 'true' },
  })).json();
  const units = async (TableName) => (await ddb.DescribeTable({ TableName })).Table.ProvisionedThroughput;
  const create = (TableName, ReadCapacityUnits = 5, WriteCapacityUnits = 5) => ddb.CreateTable({
    TableName, ProvisionedThroughput: { ReadCapacityUnits, WriteCapacityUnits },
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  });
  const writes = (table) => ({ ServiceNamespace: 'dynamodb', ResourceId: `table/${table}`, ScalableDimension: 'dynamodb:table:WriteCapacityUnits' });
  const reads = (table) => ({ ...writes(table), ScalableDimension: 'dynamodb:table:ReadCapacityUnits' });
  const tracking = (TargetValue, more = {}) => ({
    PolicyType: 'TargetTrackingScaling',
    TargetTrackingScalingPolicyConfiguration: { TargetValue, PredefinedMetricSpecification: { PredefinedMetricType: 'DynamoDBWriteCapacityUtilization' }, ...more },
  });

  test('capacity outside of the range moves into it at once, and load moves it within', async () => {
    await create('load', 5, 2);
    await call('RegisterScalableTarget', { ...writes('load'), MinCapacity: 4, MaxCapacity: 40 });
    assert.equal((await units('load')).WriteCapacityUnits, 4);
    assert.equal((await units('load')).ReadCapacityUnits, 5);
    await call('PutScalingPolicy', { ...writes('load'), PolicyName: 'p', ...tracking(50) });
    const { write } = await rules('load');
    assert.deepEqual({ min: write.min, max: write.max, target: write.target, from: write.from }, { min: 4, max: 40, target: 0.5, from: 'table' });
    await advance(30);
    // 600 writes a minute are 10 a second: 20 units at 50 %.
    for (let minute = 0; minute < 3; minute++) {
      await Promise.all(Array.from({ length: 600 }, (_, i) => ddb.PutItem({ TableName: 'load', Item: { pk: S(`k${i}`), n: N(i) } })));
      await advance(60);
    }
    for (let i = 0; i < 1200 && (await units('load')).WriteCapacityUnits === 4; i++) await new Promise((done) => setTimeout(done, 50));
    // The units of other servers are counted up to a second of real time later, so that a minute of the manual clock may have
    // less of it and the next one more.
    const raised = (await units('load')).WriteCapacityUnits;
    if (onCluster) assert.ok(raised > 6 && raised <= 40, `${raised} units`);
    else assert.equal(raised, 20);
    // Each of several servers knows the activities of its own.
    if (!onCluster) {
      const { ScalingActivities: activities } = await call('DescribeScalingActivities', { ServiceNamespace: 'dynamodb', ResourceId: 'table/load' });
      assert.deepEqual(activities.map(({ Description, StatusCode }) => [Description, StatusCode]),
        [['Setting write capacity units to 20.', 'Successful'], ['Setting write capacity units to 4.', 'Successful']]);
      assert.match(activities[0].Cause, /^monitor alarm TargetTracking-table\/load-AlarmHigh-\S+ in state ALARM triggered policy p$/);
      assert.equal(activities[1].Cause, 'minimum capacity was set to 4');
    }
    // A lower maximum moves it down again.
    await call('RegisterScalableTarget', { ...writes('load'), MaxCapacity: 6 });
    assert.equal((await units('load')).WriteCapacityUnits, 6);
    // The rule ends with the target, and both with one call of the server's own.
    await call('DeregisterScalableTarget', writes('load'));
    assert.equal('write' in (await rules('load')), false);
  });

  test('a suspended target and DisableScaleIn', async () => {
    await create('still');
    await call('RegisterScalableTarget', {
      ...writes('still'), MinCapacity: 1, MaxCapacity: 10, SuspendedState: { DynamicScalingInSuspended: true, DynamicScalingOutSuspended: true },
    });
    await call('PutScalingPolicy', { ...writes('still'), PolicyName: 'p', ...tracking(50, { DisableScaleIn: true }) });
    assert.equal('write' in (await rules('still')), false);
    await call('RegisterScalableTarget', { ...writes('still'), SuspendedState: { DynamicScalingInSuspended: false, DynamicScalingOutSuspended: false } });
    assert.equal((await rules('still')).write.lower_margin, 1);
    await fails('RegisterScalableTarget', { ...writes('still'), SuspendedState: { DynamicScalingInSuspended: true } }, 'ValidationException', 'must be equal');
  });

  test('targets outlive a restart, with their policies and tags', async () => {
    if (!server.dataDir) return;
    await create('kept');
    const { ScalableTargetARN } = await call('RegisterScalableTarget', { ...writes('kept'), MinCapacity: 2, MaxCapacity: 20, Tags: { a: 'b' }, RoleARN: 'arn:aws:iam::000000000000:role/mine' });
    await call('PutScalingPolicy', { ...writes('kept'), PolicyName: 'p', ...tracking(60.5, { ScaleOutCooldown: 30 }) });
    const state = async () => [
      await call('DescribeScalableTargets', { ServiceNamespace: 'dynamodb', ResourceIds: ['table/kept'] }),
      await call('DescribeScalingPolicies', { ServiceNamespace: 'dynamodb', ResourceId: 'table/kept' }),
      await call('ListTagsForResource', { ResourceARN: ScalableTargetARN }),
    ];
    const was = await state();
    assert.equal(was[0].ScalableTargets[0].RoleARN, 'arn:aws:iam::000000000000:role/mine');
    assert.equal(was[1].ScalingPolicies[0].TargetTrackingScalingPolicyConfiguration.TargetValue, 60.5);
    const { dataDir } = server;
    client.destroy();
    await server.kill();
    await start(dataDir);
    server.ownsDirectory = true;
    assert.deepEqual(await state(), was);
    await call('TagResource', { ResourceARN: ScalableTargetARN, Tags: { c: '' } });
    await call('UntagResource', { ResourceARN: ScalableTargetARN, TagKeys: ['a', 'never'] });
    assert.deepEqual((await call('ListTagsForResource', { ResourceARN: ScalableTargetARN })).Tags, { c: '' });
    await fails('ListTagsForResource', { ResourceARN: `${ScalableTargetARN}x` }, 'ResourceNotFoundException', '');
    // They go with their table.
    await ddb.DeleteTable({ TableName: 'kept' });
    assert.deepEqual((await call('DescribeScalableTargets', { ServiceNamespace: 'dynamodb', ResourceIds: ['table/kept'] })).ScalableTargets, []);
  });

  test('pages', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) {
      await create(name);
      for (const at of [reads(name), writes(name)]) await call('RegisterScalableTarget', { ...at, MinCapacity: 1, MaxCapacity: 9 });
    }
    const ResourceIds = ['page-a', 'page-b', 'page-c'].map((name) => `table/${name}`);
    const found = [];
    let NextToken;
    do {
      const page = await call('DescribeScalableTargets', { ServiceNamespace: 'dynamodb', ResourceIds, MaxResults: 4, NextToken });
      assert.ok(page.ScalableTargets.length <= 4);
      found.push(...page.ScalableTargets.map(({ ResourceId, ScalableDimension }) => `${ResourceId} ${ScalableDimension.split(':')[2]}`));
      NextToken = page.NextToken;
    } while (NextToken);
    assert.deepEqual(found, ResourceIds.flatMap((id) => [`${id} ReadCapacityUnits`, `${id} WriteCapacityUnits`]));
    for (const bad of ['', 'x', Buffer.from('0123456789abcdefpage').toString('base64')]) {
      await fails('DescribeScalableTargets', { ServiceNamespace: 'dynamodb', NextToken: bad }, 'InvalidNextTokenException', '');
    }
    await fails('DescribeScalableTargets', { ServiceNamespace: 'dynamodb', MaxResults: 51 }, 'ValidationException', 'between 1 and 50');
    await fails('DescribeScalingPolicies', { ServiceNamespace: 'dynamodb', MaxResults: 0 }, 'ValidationException', 'between 1 and 10');
  });

  test('what is refused', async () => {
    await create('refused');
    const at = writes('refused');
    const unsupported = 'Unsupported service namespace, resource type or scalable dimension';
    const range = { MinCapacity: 1, MaxCapacity: 5 };
    for (const wrong of [
      { ServiceNamespace: 'ecs' }, { ResourceId: 'tables/refused' }, { ResourceId: 'table/' }, { ResourceId: 'table/a/b' }, { ResourceId: 'table/refused/index/' },
      { ScalableDimension: 'dynamodb:index:WriteCapacityUnits' }, { ScalableDimension: 'WriteCapacityUnits' }, { ResourceId: 'table/refused/index/i' },
    ]) await fails('RegisterScalableTarget', { ...at, ...range, ...wrong }, 'ValidationException', unsupported);
    await fails('RegisterScalableTarget', { ...at, ...range, ResourceId: 'table/none' }, 'ValidationException', 'DynamoDB table does not exist: table/none');
    await fails('RegisterScalableTarget', { ...at, ...range, ResourceId: 'table/refused/index/i', ScalableDimension: 'dynamodb:index:ReadCapacityUnits' },
      'ValidationException', 'DynamoDB index does not exist: table/refused/index/i');
    await fails('RegisterScalableTarget', { ...range }, 'ValidationException', "Value null at 'serviceNamespace' failed to satisfy constraint: Member must not be null");
    await fails('RegisterScalableTarget', { ...at, MinCapacity: 1 }, 'ValidationException', 'MinCapacity and MaxCapacity must both be specified');
    await fails('RegisterScalableTarget', { ...at, MinCapacity: 6, MaxCapacity: 5 }, 'ValidationException', 'MaxCapacity must be greater than or equal to MinCapacity');
    await fails('RegisterScalableTarget', { ...at, MinCapacity: 0, MaxCapacity: 5 }, 'ValidationException', 'at least 1');
    await fails('RegisterScalableTarget', { ...at, ...range, Tags: { 'aws:x': '' } }, 'ValidationException', 'aws: prefixed');
    await fails('RegisterScalableTarget', { ...at, ...range, Tags: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, ''])) }, 'TooManyTagsException', '50');
    await fails('RegisterScalableTarget', { ...at, MinCapacity: '1', MaxCapacity: 5 }, 'SerializationException', 'MinCapacity has a wrong type');
    await fails('PutScalingPolicy', { ...at, PolicyName: 'p', ...tracking(50) }, 'ObjectNotFoundException',
      'No scalable target found for service namespace: dynamodb, resource ID: table/refused, scalable dimension: dynamodb:table:WriteCapacityUnits');
    await call('RegisterScalableTarget', { ...at, ...range });
    await fails('PutScalingPolicy', { ...at, PolicyName: 'p', ...tracking(19.9) }, 'ValidationException', "target value must be between '20.0' and '90.0', but was '19.9'.");
    await fails('PutScalingPolicy', { ...at, PolicyName: 'p', ...tracking(50), PolicyType: 'Other' }, 'ValidationException',
      "Value 'Other' at 'policyType' failed to satisfy constraint: Member must satisfy enum value set: [PredictiveScaling, StepScaling, TargetTrackingScaling]");
    await fails('PutScalingPolicy', { ...at, PolicyName: 'p', PolicyType: 'StepScaling' }, 'ValidationException', 'StepScaling is not supported');
    await fails('PutScalingPolicy', { ...at, PolicyName: 'p', ...tracking(50, { PredefinedMetricSpecification: { PredefinedMetricType: 'DynamoDBReadCapacityUtilization' } }) },
      'ValidationException', 'does not fit');
    await fails('PutScalingPolicy', { ...at, PolicyName: 'p', ...tracking(50, { CustomizedMetricSpecification: {} }) }, 'ValidationException', 'CustomizedMetricSpecification is not supported');
    await fails('PutScalingPolicy', { ...at, PolicyName: 'p', ...tracking(50, { ScaleInCooldown: -1 }) }, 'ValidationException', 'ScaleInCooldown');
    await call('PutScalingPolicy', { ...at, PolicyName: 'p', ...tracking(50) });
    await fails('PutScalingPolicy', { ...at, PolicyName: 'q', ...tracking(50) }, 'ValidationException',
      'Only one TargetTrackingScaling policy for a given metric specification is allowed.');
    await fails('PutScheduledAction', { ...at, ScheduledActionName: 'night', Schedule: 'rate(1 day)' }, 'ValidationException', 'Scheduled actions are not supported');
    await fails('DeleteScheduledAction', { ...at, ScheduledActionName: 'night' }, 'ObjectNotFoundException', 'night');
    assert.deepEqual(await call('DescribeScheduledActions', { ServiceNamespace: 'dynamodb' }), { ScheduledActions: [] });
    await fails('DescribeScalableTargets', { ServiceNamespace: 'dynamodb', ScalableDimension: at.ScalableDimension }, 'ValidationException', 'ResourceId');
  });

  test('requests that are none', async () => {
    await fails('GetNothing', {}, 'UnknownOperationException', '');
    await fails('DescribeScalableTargets', 'not json', 'SerializationException', 'no JSON object');
    await fails('DescribeScalableTargets', '[]', 'SerializationException', 'no JSON object');
    await fails('DescribeScalableTargets', '['.repeat(60000), 'SerializationException', 'no JSON object');
    await fails('DescribeScalableTargets', JSON.stringify({ ServiceNamespace: 'dynamodb', x: 'x'.repeat(70000) }), 'ValidationException', '65536 bytes');
    const unsigned = await raw('DescribeScalableTargets', { ServiceNamespace: 'dynamodb' }, { Authorization: '' });
    assert.equal(unsigned.status, 400);
    assert.match(unsigned.text, /MissingAuthenticationToken/);
    // Pages of other origins may not call.
    const page = await raw('DescribeScalableTargets', { ServiceNamespace: 'dynamodb' }, { Origin: 'https://strange.example' });
    assert.match(page.text, /AccessDenied/);
  });
});
