// A server with access control: signing in, what a user may and may not, users and policies.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { assertAccessible, Console, itemAddress, musicTable } from './harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecretrootsecretrootsecret' };
const kKey = { artist: { S: 'Nina Simone' }, song: { S: 'Sinnerman' } };

let it;
before(async () => {
  it = await Console.start({
    args: ['--auth=enforce'],
    env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey },
    credentials: kRoot,
  });
  await it.client.send(new CreateTableCommand(musicTable));
  await it.client.send(new PutItemCommand({ TableName: 'music', Item: { ...kKey, year: { N: '1965' } } }));
});
after(() => it?.stop());
afterEach(() => it.closePages());

async function signIn(page, keys) {
  await page.getByLabel('Access key id').fill(keys.accessKeyId);
  await page.getByLabel('Secret access key').fill(keys.secretAccessKey);
  await page.keyboard.press('Enter');
}

test('a wrong secret is told as the server has it; the right one leads to the page that was asked for', async () => {
  const page = await it.open('tables/music/items', { settled: false });
  await page.getByRole('heading', { name: 'Sign in to Stator' }).waitFor();
  await assertAccessible(page, 'sign-in');
  await signIn(page, { ...kRoot, secretAccessKey: 'wrong' });
  await page.getByText('The request signature we calculated does not match').waitFor();
  await signIn(page, kRoot);
  await page.getByRole('grid', { name: 'Items of music' }).waitFor();
  await page.getByRole('button', { name: 'root' }).waitFor();
});

test('the secret is nowhere that a script can read, and a reload keeps the session', async () => {
  const page = await it.open('overview', { settled: false });
  await signIn(page, kRoot);
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'root' }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'root' }).waitFor();
  const kept = await page.evaluate(async () => {
    const opened = await new Promise((resolve) => {
      const opening = indexedDB.open('stator', 1);
      opening.onsuccess = () => resolve(opening.result);
    });
    const one = await new Promise((resolve) => {
      const request = opened.transaction('session').objectStore('session').get('session');
      request.onsuccess = () => resolve(request.result);
    });
    return {
      extractable: one.key.extractable,
      exported: await crypto.subtle.exportKey('raw', one.key).then(() => true, () => false),
      text: JSON.stringify([one, { ...localStorage }, { ...sessionStorage }, document.cookie]),
      keyId: one.keyId,
    };
  });
  assert.equal(kept.extractable, false);
  assert.equal(kept.exported, false);
  assert.match(kept.keyId, /^ASIA/, 'what is kept is temporary');
  assert.ok(!kept.text.includes(kRoot.secretAccessKey));
  await page.getByRole('button', { name: 'root' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Stator' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to Stator' }).waitFor();
});

test('a user is made, given a key and a policy, and is held to it', async () => {
  const page = await it.open('access', { settled: false });
  await signIn(page, kRoot);
  await page.getByRole('button', { name: 'Add a user' }).click();
  await page.getByLabel('Name of the user').fill('alice');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'alice', level: 1 }).waitFor();
  await page.getByText('alice may do nothing').waitFor();
  await page.getByRole('button', { name: 'Make a key' }).click();
  const shown = await page.getByRole('region', { name: 'Code: ~/.aws/credentials' }).innerText();
  const [, accessKeyId, secretAccessKey] = /key_id = (\S+)\s+aws_secret_access_key = (\S+)/.exec(shown);
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('rowheader', { name: accessKeyId }).waitFor();

  await page.getByRole('button', { name: 'Write a policy' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Begin with').selectOption('read');
  await dialog.getByLabel('Table').selectOption('music');
  await assertAccessible(page, 'policy');
  await dialog.getByLabel('Document').fill('{');
  await dialog.getByText(/^This is no JSON/).waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Save the policy' }).isDisabled());
  await dialog.getByLabel('Begin with').selectOption('own');
  await dialog.getByLabel('Begin with').selectOption('read');
  await dialog.getByRole('button', { name: 'Save the policy' }).click();
  await page.getByText('read-music is in force').first().waitFor();
  await assertAccessible(page, 'user');
  await page.setViewportSize({ width: 320, height: 700 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
  await page.setViewportSize({ width: 1280, height: 800 });

  const may = page.getByRole('region', { name: 'May they?' });
  await may.getByLabel('Table').selectOption('music');
  await may.getByRole('button', { name: 'Ask' }).click();
  await may.getByText('Yes, it is allowed').waitFor();
  await may.getByText(/read-music/).waitFor();
  await may.getByLabel('Action').fill('dynamodb:PutItem');
  await may.getByRole('button', { name: 'Ask' }).click();
  await may.getByText('No, nothing allows it').waitFor();

  // The key works for programs, and no further than the policy goes.
  const client = new DynamoDBClient({
    endpoint: it.server.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
  });
  await client.send(new GetItemCommand({ TableName: 'music', Key: kKey }));
  await assert.rejects(client.send(new PutItemCommand({ TableName: 'music', Item: kKey })), { name: 'AccessDeniedException' });

  const own = await it.open(itemAddress('music', 'S:Nina Simone', 'S:Sinnerman'), { settled: false });
  await signIn(own, { accessKeyId, secretAccessKey });
  await own.getByText('Traffic and heat are not shown').waitFor();
  await own.getByLabel('Value of year').fill('1966');
  await own.getByRole('button', { name: 'Save', exact: true }).click();
  await own.getByText('is not authorized to perform: dynamodb:UpdateItem').first().waitFor();

  // The user goes, and with it the session; what was typed stays.
  await page.getByRole('button', { name: 'Delete the user…' }).click();
  await page.getByLabel('Type alice to confirm').fill('alice');
  await page.getByRole('button', { name: 'Delete the user', exact: true }).click();
  await page.getByRole('heading', { name: 'Access', level: 1 }).waitFor();
  await own.getByRole('button', { name: 'Save', exact: true }).click();
  await own.getByRole('dialog', { name: 'Sign in' }).waitFor();
  await signIn(own, kRoot);
  await own.getByRole('button', { name: 'root' }).waitFor();
});

test('a key is deactivated, and a page of another origin or without a session gets nothing', async () => {
  const page = await it.open('access', { settled: false });
  await signIn(page, kRoot);
  await page.getByRole('button', { name: 'Add a user' }).click();
  await page.getByLabel('Name of the user').fill('bob');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Make a key' }).click();
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('button', { name: /^Deactivate AKIA/ }).click();
  await page.getByText('The key is refused from now on').first().waitFor();
  await page.getByText('inactive', { exact: true }).waitFor();
  await page.getByLabel('Attach a policy').selectOption({ label: 'AmazonDynamoDBReadOnlyAccess' });
  await page.getByText('AmazonDynamoDBReadOnlyAccess is attached').first().waitFor();
  const reply = await fetch(`${it.origin}/_stator/pulse`, { headers: { 'X-Stator-Management': 'true' } });
  assert.equal(reply.status, 403);
});

test('a group gives its users what its policies allow, and takes it with them', async () => {
  const page = await it.open('access', { settled: false });
  await signIn(page, kRoot);
  await page.getByRole('button', { name: 'Add a user' }).click();
  await page.getByLabel('Name of the user').fill('carol');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'carol', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Make a key' }).click();
  const shown = await page.getByRole('region', { name: 'Code: ~/.aws/credentials' }).innerText();
  const [, accessKeyId, secretAccessKey] = /key_id = (\S+)\s+aws_secret_access_key = (\S+)/.exec(shown);
  await page.getByRole('button', { name: 'I have it' }).click();
  const carol = new DynamoDBClient({
    endpoint: it.server.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
  });
  const read = () => carol.send(new GetItemCommand({ TableName: 'music', Key: kKey }));
  await assert.rejects(read(), { name: 'AccessDeniedException' });

  await page.getByRole('link', { name: 'Access', exact: true }).first().click();
  await page.getByRole('button', { name: 'Add a group' }).click();
  await page.getByLabel('Name of the group').fill('read ers');
  await page.getByText(/^At most 128 letters/).waitFor();
  await page.getByLabel('Name of the group').fill('readers');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'readers', level: 1 }).waitFor();
  await page.getByText('being in readers allows nothing').waitFor();
  await page.getByLabel('Add a user to the group').selectOption('carol');
  await page.getByText('carol is in readers').first().waitFor();
  await page.getByRole('button', { name: 'Write a policy' }).click();
  await page.getByRole('dialog').getByLabel('Begin with').selectOption('read');
  await page.getByRole('dialog').getByRole('button', { name: 'Save the policy' }).click();
  await page.getByText('read is in force').first().waitFor();
  await assertAccessible(page, 'group');
  assert.deepEqual((await read()).Item?.year, { N: '1965' });

  // From the side of the user: out of the group again.
  await page.getByRole('link', { name: 'carol' }).click();
  await page.getByRole('region', { name: 'Groups' }).getByRole('link', { name: 'readers' }).waitFor();
  await page.getByRole('button', { name: 'Take out of readers' }).click();
  await page.getByText('carol is out of readers').first().waitFor();
  await assert.rejects(read(), { name: 'AccessDeniedException' });
  await page.getByLabel('Add to a group').selectOption('readers');
  await page.getByText('carol is in readers').first().waitFor();
  await read();

  await page.getByRole('link', { name: 'readers' }).click();
  await page.getByRole('button', { name: 'Delete the group…' }).click();
  await page.getByLabel('Type readers to confirm').fill('readers');
  await page.getByRole('button', { name: 'Delete the group', exact: true }).click();
  await page.getByRole('heading', { name: 'Access', level: 1 }).waitFor();
  await assert.rejects(read(), { name: 'AccessDeniedException' });
});

test('a role is made, is taken by whom its trust policy names, and may do what its policies allow', async () => {
  const page = await it.open('access', { settled: false });
  await signIn(page, kRoot);
  await page.getByRole('button', { name: 'Add a role' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a role' });
  await dialog.getByLabel('Name of the role').fill('nightly');
  await dialog.getByLabel('What it is for').fill('reads at night');
  await dialog.getByLabel('Trust policy').fill('{');
  await dialog.getByText(/^This is no JSON/).waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Add the role' }).isDisabled());
  await dialog.getByLabel('May be taken by').selectOption('everyone in the account');
  await assertAccessible(page, 'new role');
  await dialog.getByRole('button', { name: 'Add the role' }).click();
  await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor();
  await page.getByText('reads at night').waitFor();
  await page.getByText('1 h 0 min at most').waitFor();
  await page.getByLabel('Attach a policy').selectOption({ label: 'AmazonDynamoDBReadOnlyAccess' });
  await page.getByText('AmazonDynamoDBReadOnlyAccess is attached').first().waitFor();
  await assertAccessible(page, 'role');
  const may = page.getByRole('region', { name: 'May they?' });
  await may.getByRole('button', { name: 'Ask' }).click();
  await may.getByText('Yes, it is allowed').waitFor();
  await may.getByLabel('Action').fill('dynamodb:PutItem');
  await may.getByRole('button', { name: 'Ask' }).click();
  await may.getByText('No, nothing allows it').waitFor();
  await page.getByRole('button', { name: 'Change…' }).click();
  const trust = page.getByRole('dialog', { name: 'Who may take nightly' });
  const text = await trust.getByLabel('Trust policy').inputValue();
  await trust.getByLabel('Trust policy').fill(text.replace('"Allow"', '"Deny"'));
  await trust.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The trust policy is in force').first().waitFor();
  await page.getByRole('region', { name: 'Code: Trust policy' }).getByText('"Deny"').waitFor();
  await page.getByRole('button', { name: 'Delete the role…' }).click();
  await page.getByLabel('Type nightly to confirm').fill('nightly');
  await page.getByRole('button', { name: 'Delete the role', exact: true }).click();
  await page.getByRole('heading', { name: 'Access', level: 1 }).waitFor();
  await page.getByText('None yet. A role gives').waitFor();
});
