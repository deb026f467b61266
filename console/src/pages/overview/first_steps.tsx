// How to connect, and what to do with an empty server.
import { useState } from 'preact/hooks';
import { kBase } from '../../api/http.ts';
import { go, href } from '../../app/router.ts';
import { store, stored } from '../../app/settings.ts';
import { boot, refresh, tables } from '../../app/state.ts';
import { CodeText } from '../../ui/code.tsx';
import { Choice } from '../../ui/field.tsx';
import { focusIfLost } from '../../ui/focus.ts';
import { Icon } from '../../ui/icons.tsx';
import { job } from '../../ui/jobs.ts';
import { say, sayError } from '../../ui/told.tsx';

type Client = 'js' | 'python' | 'cli' | 'env';

export function FirstSteps({ compact }: { compact?: boolean }) {
  return (
    <>
      {!compact && <Welcome />}
      <Connect />
    </>
  );
}

function Welcome() {
  const region = boot.value?.region;
  return (
    <section class="card welcome">
      <h2>This server has no tables yet</h2>
      <p class="muted">
        It speaks DynamoDB’s API at <code>{kBase.replace(/\/$/, '')}</code>, Region{' '}
        <code>{region}</code>. Any access key does.
      </p>
      <div class="row">
        <a class="button primary" href={href(['tables', 'new'])}>
          <Icon name="plus" />
          Create a table
        </a>
        <SampleButton />
        <LoadButton />
        <a class="button" href={href(['tables', 'import'])}>
          <Icon name="upload" />
          Import a table
        </a>
      </div>
    </section>
  );
}

// Why the sample load cannot run; undefined: it can.
export const noLoadBecause = (): string | undefined =>
  boot.value?.readOnly
    ? 'This console is read-only'
    : boot.value?.throttling === 'off'
      ? 'This server measures no throughput (--throttling=off)'
      : undefined;

export async function heatSample(): Promise<void> {
  try {
    const { loadVotes } = await import('./load_votes.ts');
    await loadVotes();
    await refresh();
    say('sample-votes is written to: its heat shows in some seconds');
    await go(href(['overview']));
    focusIfLost(() => document.querySelector<HTMLElement>('main'));
  } catch (error) {
    sayError(error);
  }
}

export const musicLabel = (): string =>
  tables.value.has('music') ? 'Open the table music' : 'Load the music sample';

// Makes the table if there is none, and opens it.
export async function musicSample(): Promise<void> {
  try {
    if (!tables.peek().has('music')) {
      const { loadMusic } = await import('./load_sample.ts');
      const count = await loadMusic();
      await refresh();
      say(`Table music has ${count} songs`);
    }
    await go(href(['tables', 'music', 'items']));
  } catch (error) {
    sayError(error);
  }
}

export function SampleButton({ small }: { small?: boolean }) {
  const [busy, setBusy] = useState(false);
  return (
    <button
      type="button"
      class={small ? 'small' : ''}
      disabled={busy}
      onClick={async () => {
        setBusy(true);
        await musicSample();
        setBusy(false);
      }}
    >
      <Icon name="download" />
      {busy ? 'Loading…' : musicLabel()}
    </button>
  );
}

// Makes heat to look at: nothing else shows what a partition is as soon.
export function LoadButton({ small }: { small?: boolean }) {
  const [busy, setBusy] = useState(false);
  const running = job.value?.load === true && job.value.outcome === null;
  const why = noLoadBecause();
  if (boot.value?.production) return null;
  return (
    <button
      type="button"
      class={small ? 'small' : ''}
      disabled={why !== undefined}
      aria-disabled={busy || running}
      title={why ?? 'Writes to a table sample-votes for five minutes, mostly one key'}
      onClick={async () => {
        // It keeps the focus while it cannot be pressed.
        if (busy || running) return;
        setBusy(true);
        await heatSample();
        setBusy(false);
      }}
    >
      <Icon name="play" />
      {busy ? 'Preparing…' : running ? 'The load is running' : 'Heat a sample table'}
    </button>
  );
}

function Connect() {
  const [client, setClient] = useState<Client>(stored<Client>('connect', 'js'));
  return (
    <section class="card" aria-labelledby="connect-title">
      <header>
        <h2 id="connect-title">Connect</h2>
        <Choice
          legend="Client"
          hideLegend
          value={client}
          options={[
            { value: 'js', label: 'JavaScript' },
            { value: 'python', label: 'Python' },
            { value: 'cli', label: 'AWS CLI' },
            { value: 'env', label: 'Environment' },
          ]}
          onChange={(chosen) => {
            setClient(chosen);
            store('connect', chosen);
          }}
        />
      </header>
      <div class="card-body">
        <CodeText text={connectText(client)} label="Paste this" />
      </div>
    </section>
  );
}

function connectText(client: Client): string {
  const endpoint = kBase.replace(/\/$/, '');
  const region = boot.value?.region ?? 'us-east-1';
  switch (client) {
    case 'js':
      return (
        `import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';\n\n` +
        `const client = new DynamoDBClient({\n  endpoint: '${endpoint}',\n  region: '${region}',\n` +
        `  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },\n});\n` +
        `console.log(await client.send(new ListTablesCommand({})));\n`
      );
    case 'python':
      return (
        `import boto3\n\ndynamodb = boto3.resource(\n    'dynamodb',\n    endpoint_url='${endpoint}',\n` +
        `    region_name='${region}',\n    aws_access_key_id='any',\n    aws_secret_access_key='any',\n)\n` +
        `print(list(dynamodb.tables.all()))\n`
      );
    case 'cli':
      return (
        `export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=${region}\n` +
        `aws dynamodb list-tables --endpoint-url ${endpoint}\n`
      );
    case 'env':
      return (
        `export AWS_ENDPOINT_URL_DYNAMODB=${endpoint}\n` +
        `export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=${region}\n`
      );
  }
}
