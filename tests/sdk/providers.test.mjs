// Requests of infrastructure tools for their DynamoDB resources, with the polls and comparisons that they make: Terraform's AWS
// provider (which Pulumi and Crossplane bridge), the handlers of CloudFormation (CDK, Serverless) and serverless-dynamodb-local.
// Each resource is made, planned again, changed argument by argument and destroyed; after every step nothing may differ.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { Server, isStator, request, signedHeaders } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const options = { skip: own ? false : 'needs a server of its own' };
const ACCOUNT = '000000000000';
const REGION = 'us-east-1';
const table = (name) => `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/${name}`;

class Failure extends Error {
  constructor(operation, status, body) {
    const type = String(body.__type ?? '').split('#').pop();
    super(`${operation}: ${status} ${type}: ${body.message ?? body.Message}`);
    this.type = type;
    this.text = body.message ?? body.Message ?? '';
  }
}

let server;
async function send(target, body, { operation, key, region } = {}) {
  const headers = signedHeaders('-', { 'X-Amz-Target': target }, { key: key ?? 'AKIDEXAMPLE', region: region ?? REGION });
  const reply = await request(server.endpoint, { headers, body: JSON.stringify(body) });
  const answer = reply.text.trim() === '' ? {} : reply.json();
  if (reply.status !== 200) throw new Failure(operation, reply.status, answer);
  return answer;
}
const dynamodb = (operation, body = {}, more) => send(`DynamoDB_20120810.${operation}`, body, { operation, ...more });
const scaling = (operation, body = {}) => send(`AnyScaleFrontendService.${operation}`, body, { operation });
const manage = (method, path, body) => request(server.endpoint, {
  method, path: `/_stator${path}`, headers: { 'X-Stator-Management': 'true' }, body: body === undefined ? '' : JSON.stringify(body),
}).then((reply) => reply.json());
// Settings of time to live change once an hour.
const nextHour = () => manage('POST', '/clock', { advance: '61m' });

// A wait of the providers: a status that is neither pending nor the target is an error at once; `absent` ones in a row are one too.
async function waitFor(what, look, { pending, target, twice = false, absent = 21 }) {
  let seen = 0;
  let missing = 0;
  for (let i = 0, pause = 5; i < 300; i++, pause = Math.min(pause * 2, 400)) {
    const status = await look();
    if (target.includes(status)) {
      if (++seen === (twice ? 2 : 1)) return;
    } else {
      seen = 0;
      if (status === undefined) assert.ok(++missing < absent, `${what}: couldn't find resource (${missing} retries)`);
      else assert.ok(pending.includes(status), `${what}: unexpected state '${status}', wanted target '${target}'`);
    }
    await delay(pause);
  }
  assert.fail(`${what}: timeout while waiting for ${target}`);
}

const describeTable = async (name) => {
  try {
    return (await dynamodb('DescribeTable', { TableName: name })).Table;
  } catch (failure) {
    if (failure.type === 'ResourceNotFoundException') return undefined;
    throw failure;
  }
};
const indexOf = (description, name) => description.GlobalSecondaryIndexes?.find(({ IndexName }) => IndexName === name);
const ACTIVE = { pending: ['CREATING', 'UPDATING'], target: ['ACTIVE'] };

// ---- Terraform's aws_dynamodb_table ----

class Table {
  constructor(config) { this.config = config; }
  get name() { return this.config.name; }

  waitTable() { return waitFor(`table ${this.name}`, async () => (await describeTable(this.name))?.TableStatus, { ...ACTIVE, twice: true }); }
  waitWarm() { return waitFor(`warm throughput of ${this.name}`, async () => (await describeTable(this.name)).WarmThroughput?.Status, ACTIVE); }
  waitIndex(name) { return waitFor(`index ${name}`, async () => indexOf(await describeTable(this.name), name)?.IndexStatus, ACTIVE); }
  waitIndexWarm(name) {
    return waitFor(`warm throughput of index ${name}`, async () => indexOf(await describeTable(this.name), name)?.WarmThroughput?.Status, ACTIVE);
  }
  waitIndexGone(name) {
    return waitFor(`end of index ${name}`, async () => indexOf(await describeTable(this.name), name)?.IndexStatus ?? 'gone',
      { pending: ['ACTIVE', 'DELETING', 'UPDATING'], target: ['gone'] });
  }
  waitSse(enabled) {
    return waitFor('encryption', async () => (await describeTable(this.name)).SSEDescription?.Status ?? 'DISABLED',
      { pending: ['DISABLING', 'ENABLING', 'UPDATING'], target: [enabled ? 'ENABLED' : 'DISABLED'], twice: true });
  }
  async setTimeToLive({ enabled, attribute_name }) {
    await dynamodb('UpdateTimeToLive', { TableName: this.name, TimeToLiveSpecification: { Enabled: enabled, AttributeName: attribute_name } });
    await waitFor('time to live', async () => (await dynamodb('DescribeTimeToLive', { TableName: this.name })).TimeToLiveDescription.TimeToLiveStatus,
      enabled ? { pending: ['DISABLED', 'ENABLING'], target: ['ENABLED'] } : { pending: ['ENABLED', 'DISABLING'], target: ['DISABLED'] });
  }

  static attributes(config) { return config.attribute.map(({ name, type }) => ({ AttributeName: name, AttributeType: type })); }
  static throughput({ read_capacity, write_capacity }) {
    return { ReadCapacityUnits: read_capacity ?? 1, WriteCapacityUnits: write_capacity ?? 1 };
  }
  static index(config, index) {
    return {
      IndexName: index.name,
      KeySchema: [{ AttributeName: index.hash_key, KeyType: 'HASH' }, ...(index.range_key ? [{ AttributeName: index.range_key, KeyType: 'RANGE' }] : [])],
      Projection: { ProjectionType: index.projection_type, ...(index.non_key_attributes ? { NonKeyAttributes: index.non_key_attributes } : {}) },
      ...(config.billing_mode === 'PROVISIONED' ? { ProvisionedThroughput: Table.throughput(index) } : {}),
      ...(index.on_demand_throughput ? { OnDemandThroughput: Table.maxima(index.on_demand_throughput) } : {}),
      ...(index.warm_throughput ? { WarmThroughput: Table.warm(index.warm_throughput) } : {}),
    };
  }
  static maxima({ max_read_request_units, max_write_request_units }) {
    return { MaxReadRequestUnits: max_read_request_units, MaxWriteRequestUnits: max_write_request_units };
  }
  static warm({ read_units_per_second, write_units_per_second }) {
    return { ReadUnitsPerSecond: read_units_per_second, WriteUnitsPerSecond: write_units_per_second };
  }

  async create() {
    const c = this.config;
    assert.equal(await describeTable(c.name), undefined);  // the plan looks first
    await dynamodb('CreateTable', {
      TableName: c.name,
      BillingMode: c.billing_mode,
      KeySchema: [{ AttributeName: c.hash_key, KeyType: 'HASH' }, ...(c.range_key ? [{ AttributeName: c.range_key, KeyType: 'RANGE' }] : [])],
      AttributeDefinitions: Table.attributes(c),
      Tags: Object.entries(c.tags ?? {}).map(([Key, Value]) => ({ Key, Value })),
      ...(c.billing_mode === 'PROVISIONED' ? { ProvisionedThroughput: Table.throughput(c) } : {}),
      ...(c.local_secondary_index ? {
        LocalSecondaryIndexes: c.local_secondary_index.map((index) => ({
          IndexName: index.name,
          KeySchema: [{ AttributeName: c.hash_key, KeyType: 'HASH' }, { AttributeName: index.range_key, KeyType: 'RANGE' }],
          Projection: { ProjectionType: index.projection_type, ...(index.non_key_attributes ? { NonKeyAttributes: index.non_key_attributes } : {}) },
        })),
      } : {}),
      ...(c.global_secondary_index ? { GlobalSecondaryIndexes: c.global_secondary_index.map((index) => Table.index(c, index)) } : {}),
      ...(c.stream_enabled ? { StreamSpecification: { StreamEnabled: true, StreamViewType: c.stream_view_type } } : {}),
      ...(c.server_side_encryption ? { SSESpecification: { Enabled: c.server_side_encryption.enabled } } : {}),
      TableClass: c.table_class ?? 'STANDARD',
      ...(c.deletion_protection_enabled ? { DeletionProtectionEnabled: true } : {}),
      ...(c.on_demand_throughput ? { OnDemandThroughput: Table.maxima(c.on_demand_throughput) } : {}),
      ...(c.warm_throughput ? { WarmThroughput: Table.warm(c.warm_throughput) } : {}),
    });
    await this.waitTable();
    await this.waitWarm();
    for (const { name } of c.global_secondary_index ?? []) {
      await this.waitIndex(name);
      await this.waitIndexWarm(name);
    }
    if (c.ttl?.enabled) await this.setTimeToLive(c.ttl);
    await this.noDrift();
  }

  // Changes to the new configuration, in the provider's order.
  async apply(change) {
    const old = this.config;
    const c = { ...old, ...change };
    this.config = c;
    const update = (members) => dynamodb('UpdateTable', { TableName: this.name, ...members });
    const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
    const oldIndexes = new Map((old.global_secondary_index ?? []).map((index) => [index.name, index]));
    const newIndexes = new Map((c.global_secondary_index ?? []).map((index) => [index.name, index]));
    const shape = ({ hash_key, range_key, projection_type, non_key_attributes }) => ({ hash_key, range_key, projection_type, non_key_attributes });
    const replaced = (name) => newIndexes.has(name) && oldIndexes.has(name) && !same(shape(newIndexes.get(name)), shape(oldIndexes.get(name)));

    for (const name of oldIndexes.keys()) {
      if (newIndexes.has(name) && !replaced(name)) continue;
      await update({ GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: name } }] });
      await this.waitIndexGone(name);
    }
    if ((c.table_class ?? 'STANDARD') !== (old.table_class ?? 'STANDARD')) {
      await update({ TableClass: c.table_class ?? 'STANDARD' });
      await this.waitTable();
    }
    let streamDone = false;
    if (c.stream_enabled && old.stream_enabled && c.stream_view_type !== old.stream_view_type) {
      await update({ StreamSpecification: { StreamEnabled: false } });
      await this.waitTable();
      await update({ StreamSpecification: { StreamEnabled: true, StreamViewType: c.stream_view_type } });
      await this.waitTable();
      streamDone = true;
    }

    const one = {};
    const kept = [...newIndexes.values()].filter(({ name }) => oldIndexes.has(name) && !replaced(name));
    const switched = c.billing_mode !== old.billing_mode;
    if (switched || c.read_capacity !== old.read_capacity || c.write_capacity !== old.write_capacity) {
      one.BillingMode = c.billing_mode;
      if (c.billing_mode === 'PROVISIONED') one.ProvisionedThroughput = Table.throughput(c);
    }
    const indexUpdates = [];
    for (const index of kept) {
      const before = oldIndexes.get(index.name);
      const members = {};
      if (c.billing_mode === 'PROVISIONED' && (switched || !same(Table.throughput(index), Table.throughput(before))))
        members.ProvisionedThroughput = Table.throughput(index);
      if (index.on_demand_throughput && !same(index.on_demand_throughput, before.on_demand_throughput))
        members.OnDemandThroughput = Table.maxima(index.on_demand_throughput);
      if (Object.keys(members).length) indexUpdates.push({ Update: { IndexName: index.name, ...members } });
    }
    if (indexUpdates.length) one.GlobalSecondaryIndexUpdates = indexUpdates;
    if (Boolean(c.deletion_protection_enabled) !== Boolean(old.deletion_protection_enabled))
      one.DeletionProtectionEnabled = Boolean(c.deletion_protection_enabled);
    if (!same(c.on_demand_throughput, old.on_demand_throughput)) {
      one.OnDemandThroughput = Table.maxima(c.on_demand_throughput ?? { max_read_request_units: -1, max_write_request_units: -1 });
    }
    if (!streamDone && Boolean(c.stream_enabled) !== Boolean(old.stream_enabled)) {
      one.StreamSpecification = c.stream_enabled ? { StreamEnabled: true, StreamViewType: c.stream_view_type } : { StreamEnabled: false };
    }
    if (Object.keys(one).length) {
      await update(one);
      await this.waitTable();
      await this.waitWarm();
      for (const { name } of kept) await this.waitIndex(name);
    }
    for (const index of kept) {
      if (!index.warm_throughput || same(index.warm_throughput, oldIndexes.get(index.name).warm_throughput)) continue;
      await update({ GlobalSecondaryIndexUpdates: [{ Update: { IndexName: index.name, WarmThroughput: Table.warm(index.warm_throughput) } }] });
      await this.waitIndexWarm(index.name);
    }
    for (const index of newIndexes.values()) {
      if (oldIndexes.has(index.name) && !replaced(index.name)) continue;
      await update({ AttributeDefinitions: Table.attributes(c), GlobalSecondaryIndexUpdates: [{ Create: Table.index(c, index) }] });
      await this.waitIndex(index.name);
      await this.waitIndexWarm(index.name);
      await this.waitTable();
    }
    if (!same(c.server_side_encryption, old.server_side_encryption)) {
      const enabled = Boolean(c.server_side_encryption?.enabled);
      await update({ SSESpecification: { Enabled: enabled } });
      await this.waitSse(enabled);
    }
    if (!same(c.ttl, old.ttl)) {
      await nextHour();
      // A block that goes away is sent as disabled, with the old name.
      await this.setTimeToLive(c.ttl?.enabled ? c.ttl : { enabled: false, attribute_name: (c.ttl ?? old.ttl).attribute_name || old.ttl.attribute_name });
    }
    if (c.warm_throughput && !same(c.warm_throughput, old.warm_throughput)) {
      await update({ WarmThroughput: Table.warm(c.warm_throughput) });
      await this.waitWarm();
    }
    if (!same(c.tags, old.tags)) {
      const gone = Object.keys(old.tags ?? {}).filter((key) => !(key in (c.tags ?? {})));
      if (gone.length) await dynamodb('UntagResource', { ResourceArn: table(this.name), TagKeys: gone });
      const set = Object.entries(c.tags ?? {}).filter(([key, value]) => old.tags?.[key] !== value);
      if (set.length) await dynamodb('TagResource', { ResourceArn: table(this.name), Tags: set.map(([Key, Value]) => ({ Key, Value })) });
    }
    await this.noDrift();
  }

  // Reads the table into a state, as a refresh does: only members that are compared.
  async read() {
    const d = (await dynamodb('DescribeTable', { TableName: this.name })).Table;
    const backups = await dynamodb('DescribeContinuousBackups', { TableName: this.name });
    const ttl = (await dynamodb('DescribeTimeToLive', { TableName: this.name })).TimeToLiveDescription;
    const tags = {};
    for (let NextToken; ;) {
      const page = await dynamodb('ListTagsOfResource', { ResourceArn: table(this.name), NextToken });
      for (const { Key, Value } of page.Tags) if (!Key.startsWith('aws:')) tags[Key] = Value;
      if (!(NextToken = page.NextToken)) break;
    }
    const warm = ({ WarmThroughput: w }) =>
      (w && (w.ReadUnitsPerSecond > 12000 || w.WriteUnitsPerSecond > 4000)
        ? { read_units_per_second: w.ReadUnitsPerSecond, write_units_per_second: w.WriteUnitsPerSecond } : undefined);
    const maxima = ({ OnDemandThroughput: o }) => (o ? {
      max_read_request_units: o.MaxReadRequestUnits ?? -1, max_write_request_units: o.MaxWriteRequestUnits ?? -1,
    } : undefined);
    const keys = (schema) => ({
      hash_key: schema.find(({ KeyType }) => KeyType === 'HASH').AttributeName, range_key: schema.find(({ KeyType }) => KeyType === 'RANGE')?.AttributeName,
    });
    assert.equal(typeof d.DeletionProtectionEnabled, 'boolean');
    assert.equal(typeof d.TableArn, 'string');
    return {
      name: d.TableName,
      billing_mode: d.BillingModeSummary?.BillingMode ?? 'PROVISIONED',
      ...keys(d.KeySchema),
      attribute: d.AttributeDefinitions.map(({ AttributeName, AttributeType }) => `${AttributeName}:${AttributeType}`).sort(),
      read_capacity: d.ProvisionedThroughput.ReadCapacityUnits,
      write_capacity: d.ProvisionedThroughput.WriteCapacityUnits,
      global_secondary_index: (d.GlobalSecondaryIndexes ?? []).map((index) => ({
        name: index.IndexName, ...keys(index.KeySchema), projection_type: index.Projection.ProjectionType,
        non_key_attributes: [...(index.Projection.NonKeyAttributes ?? [])].sort(),
        read_capacity: index.ProvisionedThroughput.ReadCapacityUnits, write_capacity: index.ProvisionedThroughput.WriteCapacityUnits,
        on_demand_throughput: maxima(index), warm_throughput: warm(index),
      })).sort((a, b) => (a.name < b.name ? -1 : 1)),
      local_secondary_index: (d.LocalSecondaryIndexes ?? []).map((index) => ({
        name: index.IndexName, range_key: keys(index.KeySchema).range_key, projection_type: index.Projection.ProjectionType,
        non_key_attributes: index.Projection.NonKeyAttributes ?? [],  // a list: its order counts
      })),
      on_demand_throughput: maxima(d),
      stream_enabled: Boolean(d.StreamSpecification?.StreamEnabled),
      stream_view_type: d.StreamSpecification?.StreamViewType,
      server_side_encryption: d.SSEDescription?.Status === 'ENABLED',
      table_class: d.TableClassSummary?.TableClass ?? 'STANDARD',
      deletion_protection_enabled: d.DeletionProtectionEnabled,
      point_in_time_recovery: backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus === 'ENABLED',
      ttl: { enabled: ttl.TimeToLiveStatus === 'ENABLED', attribute_name: ttl.AttributeName },
      replica: d.Replicas ?? [],
      tags,
      warm_throughput: warm(d),
    };
  }

  // The configuration in the form of the state.
  planned() {
    const c = this.config;
    const provisioned = c.billing_mode === 'PROVISIONED';
    const maxima = (o) => (o && (o.max_read_request_units > 0 || o.max_write_request_units > 0) ? {
      max_read_request_units: o.max_read_request_units ?? -1, max_write_request_units: o.max_write_request_units ?? -1,
    } : undefined);
    return {
      name: c.name, billing_mode: c.billing_mode, hash_key: c.hash_key, range_key: c.range_key,
      attribute: c.attribute.map(({ name, type }) => `${name}:${type}`).sort(),
      read_capacity: provisioned ? c.read_capacity ?? 1 : 0,
      write_capacity: provisioned ? c.write_capacity ?? 1 : 0,
      global_secondary_index: (c.global_secondary_index ?? []).map((index) => ({
        name: index.name, hash_key: index.hash_key, range_key: index.range_key, projection_type: index.projection_type,
        non_key_attributes: [...(index.non_key_attributes ?? [])].sort(),
        read_capacity: provisioned ? index.read_capacity ?? 1 : 0, write_capacity: provisioned ? index.write_capacity ?? 1 : 0,
        on_demand_throughput: maxima(index.on_demand_throughput), warm_throughput: index.warm_throughput,
      })).sort((a, b) => (a.name < b.name ? -1 : 1)),
      local_secondary_index: (c.local_secondary_index ?? []).map(({ name, range_key, projection_type, non_key_attributes }) =>
        ({ name, range_key, projection_type, non_key_attributes: non_key_attributes ?? [] })),
      on_demand_throughput: maxima(c.on_demand_throughput),
      stream_enabled: Boolean(c.stream_enabled), stream_view_type: c.stream_enabled ? c.stream_view_type : undefined,
      server_side_encryption: Boolean(c.server_side_encryption?.enabled),
      table_class: c.table_class ?? 'STANDARD',
      deletion_protection_enabled: Boolean(c.deletion_protection_enabled),
      point_in_time_recovery: false,
      ttl: c.ttl?.enabled ? { enabled: true, attribute_name: c.ttl.attribute_name } : { enabled: false, attribute_name: undefined },
      replica: [],
      tags: c.tags ?? {},
      warm_throughput: c.warm_throughput,
    };
  }

  async noDrift() {
    for (let refresh = 0; refresh < 2; refresh++) assert.deepEqual(await this.read(), this.planned());
  }

  async destroy() {
    await dynamodb('DeleteTable', { TableName: this.name });
    await waitFor(`end of ${this.name}`, async () => (await describeTable(this.name))?.TableStatus ?? 'gone', { pending: ['ACTIVE', 'DELETING'], target: ['gone'] });
    // A second destroy goes by this text.
    await assert.rejects(dynamodb('DeleteTable', { TableName: this.name }), ({ type, text }) =>
      type === 'ResourceNotFoundException' && text.startsWith('Requested resource not found: Table: '));
  }
}

for (const delayed of [false, true]) {
  describe(`infrastructure tools${delayed ? ', while statuses last seconds' : ''}`, options, () => {
    before(async () => {
      const args = ['--in-memory', '--clock=manual', '--clock-start=2026-11-21T00:00:30Z'];
      server = await Server.start({ args: delayed ? ['--in-memory', '--delay-transient-statuses'] : args });
    });
    after(() => server.stop());

    test('Terraform: the provider asks who it is', async () => {
      const ask = (body, headers = {}) => request(server.endpoint, {
        headers: { ...signedHeaders('-', { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' }), 'X-Amz-Target': '', ...headers }, body,
      });
      const reply = await ask('Action=GetCallerIdentity&Version=2011-06-15');
      assert.equal(reply.status, 200, reply.text);
      assert.match(reply.text, new RegExp(`<Arn>arn:aws:iam::${ACCOUNT}:root</Arn>.*<Account>${ACCOUNT}</Account>`));
      for (const other of ['Action=GetCallerIdentity', 'Action=AssumeRole&Version=2011-06-15', 'Action=ListUsers&Version=2010-05-08', 'x'.repeat(5000)])
        assert.notEqual((await ask(other)).status, 200);
    });

    const base = (name, more = {}) => ({ name, billing_mode: 'PAY_PER_REQUEST', hash_key: 'pk', attribute: [{ name: 'pk', type: 'S' }], ...more });

    test('Terraform: everything in one table', { skip: delayed && 'time to live takes an hour of the clock' }, async () => {
      const resource = new Table(base('tf-all', {
        range_key: 'sk',
        attribute: [{ name: 'pk', type: 'S' }, { name: 'sk', type: 'N' }, { name: 'g', type: 'S' }, { name: 'l', type: 'B' }],
        global_secondary_index: [{
          name: 'by-g', hash_key: 'g', range_key: 'sk', projection_type: 'INCLUDE', non_key_attributes: ['z', 'a', 'm'],
          on_demand_throughput: { max_read_request_units: 50, max_write_request_units: 60 },
          warm_throughput: { read_units_per_second: 13000, write_units_per_second: 5000 },
        }],
        local_secondary_index: [{ name: 'by-l', range_key: 'l', projection_type: 'INCLUDE', non_key_attributes: ['y', 'b', 'x'] }],
        stream_enabled: true, stream_view_type: 'NEW_IMAGE',
        server_side_encryption: { enabled: true },
        table_class: 'STANDARD_INFREQUENT_ACCESS',
        deletion_protection_enabled: true,
        on_demand_throughput: { max_read_request_units: 100, max_write_request_units: 200 },
        warm_throughput: { read_units_per_second: 14000, write_units_per_second: 6000 },
        ttl: { enabled: true, attribute_name: 'expires' },
        tags: { team: 'db', 'cost:center': '12/34 @home', empty: '' },
      }));
      await resource.create();
      // Deletion protection must be a ValidationException: any other refusal is tried again for ten minutes.
      await assert.rejects(dynamodb('DeleteTable', { TableName: 'tf-all' }), ({ type }) => type === 'ValidationException');
      await resource.apply({ deletion_protection_enabled: false });
      await resource.destroy();
    });

    const steps = {
      'nothing at all': {},
      'billing mode to provisioned, with indexes': {
        billing_mode: 'PROVISIONED', read_capacity: 5, write_capacity: 6,
        attribute: [{ name: 'pk', type: 'S' }, { name: 'g', type: 'S' }],
      },
      'capacity': { read_capacity: 7, write_capacity: 8 },
      'billing mode back': { billing_mode: 'PAY_PER_REQUEST', read_capacity: undefined, write_capacity: undefined },
      'maxima': { on_demand_throughput: { max_read_request_units: 10, max_write_request_units: 20 } },
      'one maximum': { on_demand_throughput: { max_read_request_units: 10, max_write_request_units: -1 } },
      'no maxima': { on_demand_throughput: undefined },
      'table class': { table_class: 'STANDARD_INFREQUENT_ACCESS' },
      'table class back': { table_class: undefined },
      'protection': { deletion_protection_enabled: true },
      'no protection': { deletion_protection_enabled: false },
      'stream': { stream_enabled: true, stream_view_type: 'KEYS_ONLY' },
      'another view of the stream': { stream_view_type: 'NEW_AND_OLD_IMAGES' },
      'no stream': { stream_enabled: false, stream_view_type: undefined },
      'encryption': { server_side_encryption: { enabled: true } },
      'encryption disabled': { server_side_encryption: { enabled: false } },
      'encryption block gone': { server_side_encryption: undefined },
      'tags': { tags: { a: '1', b: '2' } },
      'a tag changed, one gone, one new': { tags: { a: '3', c: '' } },
      'no tags': { tags: undefined },
      'warm throughput': { warm_throughput: { read_units_per_second: 12500, write_units_per_second: 4500 } },
      'several at once': { deletion_protection_enabled: true, tags: { x: 'y' }, stream_enabled: true, stream_view_type: 'OLD_IMAGE' },
      'and all of that gone': { deletion_protection_enabled: false, tags: undefined, stream_enabled: false, stream_view_type: undefined },
    };
    test('Terraform: each argument changed', { skip: delayed && 'takes a minute' }, async (t) => {
      const resource = new Table(base('tf-steps', {
        attribute: [{ name: 'pk', type: 'S' }, { name: 'g', type: 'S' }],
        global_secondary_index: [{ name: 'by-g', hash_key: 'g', projection_type: 'ALL' }],
      }));
      await resource.create();
      for (const [name, change] of Object.entries(steps)) await t.test(name, () => resource.apply(change));
      await resource.destroy();
    });

    test('Terraform: a few changes', { skip: !delayed && 'that is what the test above does' }, async () => {
      const resource = new Table(base('tf-slow', {
        attribute: [{ name: 'pk', type: 'S' }, { name: 'g', type: 'S' }],
        global_secondary_index: [{ name: 'by-g', hash_key: 'g', projection_type: 'ALL' }],
      }));
      await resource.create();
      await resource.apply({ stream_enabled: true, stream_view_type: 'KEYS_ONLY', server_side_encryption: { enabled: true } });
      await resource.destroy();
    });

    test('Terraform: indexes come, change and go', { skip: delayed && 'takes a minute' }, async () => {
      const attribute = (...names) => names.map((name) => ({ name, type: 'S' }));
      const resource = new Table(base('tf-indexes', { billing_mode: 'PROVISIONED', read_capacity: 2, write_capacity: 3 }));
      await resource.create();
      const g = { name: 'by-g', hash_key: 'g', projection_type: 'ALL', read_capacity: 4, write_capacity: 5 };
      const h = { name: 'by-h', hash_key: 'h', range_key: 'g', projection_type: 'KEYS_ONLY', read_capacity: 1, write_capacity: 1 };
      await resource.apply({ attribute: attribute('pk', 'g'), global_secondary_index: [g] });
      await resource.apply({ attribute: attribute('pk', 'g', 'h'), global_secondary_index: [g, h] });
      await resource.apply({ global_secondary_index: [{ ...g, read_capacity: 9 }, h] });
      // Another projection: dropped and made again.
      await resource.apply({ global_secondary_index: [{ ...g, read_capacity: 9, projection_type: 'KEYS_ONLY' }, h] });
      // Definitions that no key needs go with the index.
      await resource.apply({ attribute: attribute('pk', 'g'), global_secondary_index: [{ ...g, read_capacity: 9, projection_type: 'KEYS_ONLY' }] });
      await resource.apply({ billing_mode: 'PAY_PER_REQUEST', read_capacity: undefined, write_capacity: undefined });
      await resource.apply({ attribute: attribute('pk'), global_secondary_index: undefined });
      await resource.destroy();
    });

    test('Terraform: time to live on, off, on another attribute', { skip: delayed && 'takes hours of the clock' }, async () => {
      const resource = new Table(base('tf-ttl'));
      await resource.create();
      await resource.apply({ ttl: { enabled: true, attribute_name: 'expires' } });
      await resource.apply({ ttl: { enabled: false, attribute_name: '' } });
      await resource.apply({ ttl: { enabled: true, attribute_name: 'until' } });
      await resource.apply({ ttl: undefined });
      await resource.destroy();
    });

    test('Terraform: what would be pretended is refused', async () => {
      const resource = new Table(base(`tf-refused-${delayed}`));
      await resource.create();
      const refused = (members, text) => assert.rejects(dynamodb('UpdateTable', { TableName: resource.name, ...members }),
        (failure) => failure.type === 'ValidationException' && failure.text.includes(text));
      await refused({ ReplicaUpdates: [{ Create: { RegionName: 'eu-west-1' } }] }, 'ReplicaUpdates is not supported');
      await refused({ SSESpecification: { Enabled: true, SSEType: 'KMS', KMSMasterKeyId: `arn:aws:kms:${REGION}:${ACCOUNT}:key/mine` } }, 'KMSMasterKeyId is not supported');
      await resource.noDrift();
      await resource.destroy();
    });

    test('Terraform: items and the lock of the S3 backend', async () => {
      const TableName = `tf-lock-${delayed}`;
      const resource = new Table(base(TableName, { hash_key: 'LockID', attribute: [{ name: 'LockID', type: 'S' }] }));
      await resource.create();
      const lock = { LockID: { S: 'bucket/key' }, Info: { S: '{"ID":"1"}' } };
      const take = () => dynamodb('PutItem', { TableName, Item: lock, ConditionExpression: 'attribute_not_exists(LockID)' });
      await take();
      await assert.rejects(take(), ({ type }) => type === 'ConditionalCheckFailedException');
      const held = await dynamodb('GetItem', { TableName, Key: { LockID: lock.LockID }, ProjectionExpression: 'LockID, Info', ConsistentRead: true });
      assert.deepEqual(held.Item, lock);
      await dynamodb('DeleteItem', { TableName, Key: { LockID: lock.LockID } });
      // aws_dynamodb_table_item: made with the legacy Expected of old releases, changed with AttributeUpdates.
      await dynamodb('PutItem', { TableName, Item: lock, Expected: { LockID: { Exists: false } } });
      await dynamodb('UpdateItem', {
        TableName, Key: { LockID: lock.LockID }, AttributeUpdates: { Info: { Action: 'PUT', Value: { S: 'x' } }, Gone: { Action: 'DELETE' } },
      });
      const { Item } = await dynamodb('GetItem', { TableName, Key: { LockID: lock.LockID }, ConsistentRead: true });
      assert.deepEqual(Item, { LockID: lock.LockID, Info: { S: 'x' } });
      await resource.destroy();
    });

    test('Terraform: contributor insights, tags and Kinesis destinations of a table', async () => {
      const TableName = `tf-others-${delayed}`;
      const resource = new Table(base(TableName));
      await resource.create();
      await dynamodb('UpdateContributorInsights', { TableName, ContributorInsightsAction: 'ENABLE', ContributorInsightsMode: 'THROTTLED_KEYS' });
      const insights = () => dynamodb('DescribeContributorInsights', { TableName });
      await waitFor('insights', async () => (await insights()).ContributorInsightsStatus, { pending: ['ENABLING'], target: ['ENABLED'] });
      assert.equal((await insights()).ContributorInsightsMode, 'THROTTLED_KEYS');
      await dynamodb('UpdateContributorInsights', { TableName, ContributorInsightsAction: 'DISABLE' });
      await waitFor('no insights', async () => (await insights()).ContributorInsightsStatus, { pending: ['DISABLING'], target: ['DISABLED'] });
      await dynamodb('TagResource', { ResourceArn: table(TableName), Tags: [{ Key: 'one', Value: '1' }] });
      assert.deepEqual((await dynamodb('ListTagsOfResource', { ResourceArn: table(TableName) })).Tags, [{ Key: 'one', Value: '1' }]);
      await dynamodb('UntagResource', { ResourceArn: table(TableName), TagKeys: ['one'] });
      assert.deepEqual((await dynamodb('DescribeKinesisStreamingDestination', { TableName })).KinesisDataStreamDestinations, []);
      await resource.noDrift();
      await resource.destroy();
    });

    // ---- Application Auto Scaling, as Terraform and the CDK drive it ----

    test('Terraform and CDK: scalable targets and policies', async () => {
      const name = `scaled-${delayed}`;
      const resource = new Table(base(name, {
        billing_mode: 'PROVISIONED', read_capacity: 5, write_capacity: 5,
        attribute: [{ name: 'pk', type: 'S' }, { name: 'g', type: 'S' }],
        global_secondary_index: [{ name: 'by-g', hash_key: 'g', projection_type: 'ALL', read_capacity: 5, write_capacity: 5 }],
      }));
      await resource.create();
      for (const [ResourceId, ScalableDimension, metric] of [
        [`table/${name}`, 'dynamodb:table:ReadCapacityUnits', 'DynamoDBReadCapacityUtilization'],
        [`table/${name}`, 'dynamodb:table:WriteCapacityUnits', 'DynamoDBWriteCapacityUtilization'],
        [`table/${name}/index/by-g`, 'dynamodb:index:ReadCapacityUnits', 'DynamoDBReadCapacityUtilization'],
      ]) {
        const at = { ServiceNamespace: 'dynamodb', ResourceId, ScalableDimension };
        const { ScalableTargetARN } = await scaling('RegisterScalableTarget', { ...at, MinCapacity: 5, MaxCapacity: 100, Tags: { team: 'db' } });
        const targets = () => scaling('DescribeScalableTargets', { ServiceNamespace: 'dynamodb', ResourceIds: [ResourceId], ScalableDimension });
        const read = async () => {
          const { ScalableTargets } = await targets();
          assert.equal(ScalableTargets.length, 1);
          const { MinCapacity, MaxCapacity, RoleARN, ScalableTargetARN: arn } = ScalableTargets[0];
          assert.match(RoleARN, /^arn:aws:iam::\d{12}:role\/aws-service-role\/dynamodb\.application-autoscaling\.amazonaws\.com\//);
          return { MinCapacity, MaxCapacity, arn };
        };
        assert.deepEqual(await read(), { MinCapacity: 5, MaxCapacity: 100, arn: ScalableTargetARN });
        assert.deepEqual((await scaling('ListTagsForResource', { ResourceARN: ScalableTargetARN })).Tags, { team: 'db' });

        const PolicyName = `${metric}:${ResourceId}`;
        // The configuration comes back as it was put: a cooldown that was not given is not there.
        for (const TargetTrackingScalingPolicyConfiguration of [
          { TargetValue: 70, PredefinedMetricSpecification: { PredefinedMetricType: metric } },
          { TargetValue: 50.5, PredefinedMetricSpecification: { PredefinedMetricType: metric }, ScaleInCooldown: 60, ScaleOutCooldown: 0 },
          { TargetValue: 70, PredefinedMetricSpecification: { PredefinedMetricType: metric }, DisableScaleIn: true },
        ]) {
          const put = await scaling('PutScalingPolicy', { ...at, PolicyName, PolicyType: 'TargetTrackingScaling', TargetTrackingScalingPolicyConfiguration });
          assert.equal(put.Alarms.length, 4);
          const { ScalingPolicies } = await scaling('DescribeScalingPolicies', { PolicyNames: [PolicyName], ...at });
          assert.equal(ScalingPolicies.length, 1);
          const [policy] = ScalingPolicies;
          assert.deepEqual(policy.TargetTrackingScalingPolicyConfiguration, TargetTrackingScalingPolicyConfiguration);
          assert.equal(policy.PolicyType, 'TargetTrackingScaling');
          assert.equal(policy.PolicyARN, put.PolicyARN);
          assert.deepEqual(policy.Alarms, put.Alarms);
        }
        // An update says everything again, but for the tags.
        await scaling('RegisterScalableTarget', { ...at, MinCapacity: 5, MaxCapacity: 50 });
        assert.deepEqual(await read(), { MinCapacity: 5, MaxCapacity: 50, arn: ScalableTargetARN });
        assert.deepEqual((await scaling('ListTagsForResource', { ResourceARN: ScalableTargetARN })).Tags, { team: 'db' });

        await scaling('DeleteScalingPolicy', { ...at, PolicyName });
        await assert.rejects(scaling('DeleteScalingPolicy', { ...at, PolicyName }), ({ type }) => type === 'ObjectNotFoundException');
        await scaling('DeregisterScalableTarget', at);
        assert.deepEqual((await targets()).ScalableTargets, []);
        await assert.rejects(scaling('DeregisterScalableTarget', at), ({ type }) => type === 'ObjectNotFoundException');
      }
      await resource.noDrift();
      await resource.destroy();
    });

    // ---- CloudFormation's handlers, which the CDK and Serverless deploy through ----

    test('CloudFormation: AWS::DynamoDB::Table', async () => {
      const TableName = `cfn-${delayed}`;
      const properties = {
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
        SSESpecification: { SSEEnabled: true }, StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
        TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true }, ContributorInsightsSpecification: { Enabled: true },
        Tags: [{ Key: 'aws-cdk:id', Value: 'Table' }], DeletionProtectionEnabled: false, TableClass: 'STANDARD',
      };
      const { SSESpecification, StreamSpecification, TimeToLiveSpecification, ContributorInsightsSpecification, ...plain } = properties;
      await dynamodb('CreateTable', {
        TableName, ...plain, SSESpecification: { Enabled: SSESpecification.SSEEnabled },
        StreamSpecification: { StreamEnabled: true, ...StreamSpecification },
      });
      await waitFor('table', async () => (await describeTable(TableName))?.TableStatus, ACTIVE);
      await dynamodb('UpdateTimeToLive', { TableName, TimeToLiveSpecification });
      if (ContributorInsightsSpecification.Enabled) await dynamodb('UpdateContributorInsights', { TableName, ContributorInsightsAction: 'ENABLE' });
      await waitFor('time to live', async () => (await dynamodb('DescribeTimeToLive', { TableName })).TimeToLiveDescription.TimeToLiveStatus,
        { pending: ['ENABLING'], target: ['ENABLED'] });
      await waitFor('insights', async () => (await dynamodb('DescribeContributorInsights', { TableName })).ContributorInsightsStatus,
        { pending: ['ENABLING'], target: ['ENABLED'] });

      // Drift detection reads everything back into the template's form.
      const d = await describeTable(TableName);
      const ttl = (await dynamodb('DescribeTimeToLive', { TableName })).TimeToLiveDescription;
      const found = {
        KeySchema: d.KeySchema, AttributeDefinitions: d.AttributeDefinitions,
        ProvisionedThroughput: {
          ReadCapacityUnits: d.ProvisionedThroughput.ReadCapacityUnits, WriteCapacityUnits: d.ProvisionedThroughput.WriteCapacityUnits,
        },
        SSESpecification: { SSEEnabled: d.SSEDescription?.Status === 'ENABLED' },
        StreamSpecification: { StreamViewType: d.StreamSpecification.StreamViewType },
        TimeToLiveSpecification: { AttributeName: ttl.AttributeName, Enabled: ttl.TimeToLiveStatus === 'ENABLED' },
        ContributorInsightsSpecification: { Enabled: (await dynamodb('DescribeContributorInsights', { TableName })).ContributorInsightsStatus === 'ENABLED' },
        Tags: (await dynamodb('ListTagsOfResource', { ResourceArn: d.TableArn })).Tags,
        DeletionProtectionEnabled: d.DeletionProtectionEnabled, TableClass: d.TableClassSummary.TableClass,
      };
      assert.deepEqual(found, properties);
      assert.equal((await dynamodb('DescribeContinuousBackups', { TableName })).ContinuousBackupsDescription
        .PointInTimeRecoveryDescription.PointInTimeRecoveryStatus, 'DISABLED');
      assert.ok(d.LatestStreamArn.startsWith(`${d.TableArn}/stream/`));

      // AWS::DynamoDB::GlobalTable of one Region (TableV2) asks about replicas too.
      await assert.rejects(dynamodb('DescribeTableReplicaAutoScaling', { TableName }), ({ type }) => type === 'ResourceNotFoundException');
      await dynamodb('DeleteTable', { TableName });
      await waitFor('end of the table', async () => (await describeTable(TableName))?.TableStatus ?? 'gone', { pending: ['ACTIVE', 'DELETING'], target: ['gone'] });
    });

    test('serverless-dynamodb-local: a template put into CreateTable, and seeds', async () => {
      const as = { key: 'MOCK_ACCESS_KEY_ID', region: 'localhost' };
      const TableName = `sls-${delayed}`;
      const template = {
        TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }, { AttributeName: 'g', AttributeType: 'S' }],
        GlobalSecondaryIndexes: [{ IndexName: 'by-g', KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }],
        StreamSpecification: { StreamViewType: 'NEW_IMAGE' }, SSESpecification: { SSEEnabled: true },
      };
      // The plugin turns the billing mode into 5/5.
      const { BillingMode, SSESpecification, ...rest } = template;
      const units = { ReadCapacityUnits: 5, WriteCapacityUnits: 5 };
      const input = {
        ...rest, ProvisionedThroughput: units, StreamSpecification: { StreamEnabled: true, ...rest.StreamSpecification },
        SSESpecification: { Enabled: SSESpecification.SSEEnabled },
        GlobalSecondaryIndexes: rest.GlobalSecondaryIndexes.map((index) => ({ ...index, ProvisionedThroughput: units })),
      };
      assert.equal(BillingMode, 'PAY_PER_REQUEST');
      await dynamodb('CreateTable', input, as);
      // A second start finds the table.
      await assert.rejects(dynamodb('CreateTable', input, as), ({ type }) => type === 'ResourceInUseException');
      await waitFor('table', async () => (await describeTable(TableName))?.TableStatus, ACTIVE);
      const seeds = { [TableName]: [{ PutRequest: { Item: { id: { S: '1' }, g: { S: 'x' } } } }] };
      assert.deepEqual((await dynamodb('BatchWriteItem', { RequestItems: seeds }, as)).UnprocessedItems, {});
      assert.equal((await dynamodb('Scan', { TableName, Select: 'COUNT' }, as)).Count, 1);
    });
  });
}

describe('settings without effect', options, () => {
  test('are named in /_stator/status, in a warning, and refused with --strict', async () => {
    server = await Server.start({ args: ['--in-memory'] });
    try {
      const resource = new Table({
        name: 'shown', billing_mode: 'PAY_PER_REQUEST', hash_key: 'pk', attribute: [{ name: 'pk', type: 'S' }], server_side_encryption: { enabled: true },
        table_class: 'STANDARD_INFREQUENT_ACCESS',
      });
      await resource.create();
      const entry = async () => (await manage('GET', '/status')).tables.find(({ name }) => name === 'shown');
      assert.deepEqual((await entry()).without_effect, ['SSESpecification', 'TableClass']);
      await server.logged(/settings_without_effect table=shown settings=SSESpecification,TableClass/);
      await resource.apply({ server_side_encryption: undefined, table_class: undefined });
      assert.equal('without_effect' in (await entry()), false);
    } finally {
      await server.stop();
    }
    server = await Server.start({ args: ['--in-memory', '--strict'] });
    try {
      const input = { TableName: 'strict', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }] };
      const refused = (promise, text) => assert.rejects(promise, (failure) => failure.type === 'ValidationException' && failure.text.includes(text));
      await refused(dynamodb('CreateTable', { ...input, SSESpecification: { Enabled: true } }), 'SSESpecification is not supported');
      await refused(dynamodb('CreateTable', { ...input, GlobalTableSettingsReplicationMode: 'ENABLED' }), 'GlobalTableSettingsReplicationMode is not supported');
      await dynamodb('CreateTable', { ...input, SSESpecification: { Enabled: false } });
      await refused(dynamodb('UpdateTable', { TableName: 'strict', SSESpecification: { Enabled: true } }), 'SSESpecification is not supported');
      await refused(dynamodb('UpdateTable', { TableName: 'strict', DisassociationProtectionEnabled: true }), 'DisassociationProtectionEnabled is not supported');
    } finally {
      await server.stop();
    }
  });
});
