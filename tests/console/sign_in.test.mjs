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
