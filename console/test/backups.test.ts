import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  continuousOf,
  fieldOf,
  freeName,
  type IndexInBackup,
  inOrder,
  nameFor,
  restoreInput,
  timeOf,
  wrongName,
} from '../src/model/backups.ts';

const kAt = Date.parse('2026-11-26T11:30:05Z');
const index = (IndexName: string, units?: [number, number]): IndexInBackup => ({
  IndexName,
  KeySchema: [{ AttributeName: 'year', KeyType: 'HASH' }],
  Projection: { ProjectionType: 'ALL' },
  ...(units
    ? { ProvisionedThroughput: { ReadCapacityUnits: units[0], WriteCapacityUnits: units[1] } }
    : {}),
});

test('names that the page proposes are names', () => {
  assert.equal(nameFor('music', kAt), 'music-2026-11-26-1130');
  assert.equal(wrongName(nameFor('x'.repeat(255), kAt)), null);
  assert.equal(
    freeName('music', (name) => name !== 'music-restored-3'),
    'music-restored-3',
  );
  assert.equal(wrongName(freeName('x'.repeat(255), () => false)), null);
  assert.notEqual(wrongName('a b'), null);
  assert.notEqual(wrongName('ab'), null);
});

test('a restore overrides only what the user changed', () => {
  const global = [index('by-year', [7, 8]), index('by-label', [1, 2])];
  const local = [index('by-plays')];
  const all = new Set(['by-year', 'by-label', 'by-plays']);
  const choice = {
    target: 'again',
    billing: 'as it was',
    read: 5,
    write: 6,
    indexes: all,
  } as const;
  assert.deepEqual(restoreInput(choice, global, local), { TargetTableName: 'again' });
  assert.deepEqual(restoreInput({ ...choice, billing: 'on demand' }, global, local), {
    TargetTableName: 'again',
    BillingModeOverride: 'PAY_PER_REQUEST',
  });
  const less = restoreInput({ ...choice, indexes: new Set(['by-year']) }, global, local);
  assert.deepEqual(less.GlobalSecondaryIndexOverride, [index('by-year', [7, 8])]);
  assert.deepEqual(less.LocalSecondaryIndexOverride, []);
  const provisioned = restoreInput({ ...choice, billing: 'provisioned' }, global, local);
  assert.equal(provisioned.BillingModeOverride, 'PROVISIONED');
  assert.deepEqual(provisioned.GlobalSecondaryIndexOverride, [
    index('by-year', [5, 6]),
    index('by-label', [5, 6]),
  ]);
  assert.equal(provisioned.LocalSecondaryIndexOverride, undefined);
});

test('backups are listed newest first', () => {
  const one = (name: string, at: number) => ({
    arn: name,
    name,
    table: 'music',
    status: 'AVAILABLE' as const,
    at,
    bytes: 1,
  });
  assert.deepEqual(
    inOrder([one('a', 1), one('b', 3), one('c', 2)]).map((backup) => backup.name),
    ['b', 'c', 'a'],
  );
});

test('point-in-time recovery is on only where the reply says so', () => {
  assert.equal(continuousOf({}).on, false);
  const told = continuousOf({
    ContinuousBackupsDescription: {
      ContinuousBackupsStatus: 'ENABLED',
      PointInTimeRecoveryDescription: {
        PointInTimeRecoveryStatus: 'ENABLED',
        EarliestRestorableDateTime: kAt / 1000 - 60,
        LatestRestorableDateTime: kAt / 1000,
        RecoveryPeriodInDays: 35,
      },
    },
  });
  assert.deepEqual(told, { on: true, earliest: kAt - 60_000, latest: kAt, days: 35 });
});

test('times of a field are UTC, there and back', () => {
  assert.equal(fieldOf(kAt), '2026-11-26T11:30:05');
  assert.equal(timeOf(fieldOf(kAt)), kAt);
  assert.equal(timeOf('2026-11-26T11:30'), kAt - 5000);
  assert.equal(timeOf('yesterday'), null);
});
