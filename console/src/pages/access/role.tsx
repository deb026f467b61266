// One role: who may take it, for how long, and what it may do then.
import { useEffect, useState } from 'preact/hooks';
import { iam } from '../../api/iam.ts';
import { go, href } from '../../app/router.ts';
import { boot } from '../../app/state.ts';
import { documentOf } from '../../model/iam.ts';
import { childOf, textAt } from '../../model/xml.ts';
import { CodeText } from '../../ui/code.tsx';
import { ask } from '../../ui/dialog.tsx';
import { day, duration } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { Ask } from './ask.tsx';
import { Delete, Head } from './head.tsx';
import { type OwnPolicies, Policies, policiesOf, removePolicies } from './policies.tsx';
import { TrustDialog } from './trust.tsx';

interface Known {
  arn: string;
  created: string;
  description: string;
  seconds: number;
  trust: string;
  policies: OwnPolicies;
}

async function load(name: string): Promise<Known> {
  const role = childOf(await iam('GetRole', { RoleName: name }, { background: true }), 'Role');
  return {
    arn: textAt(role, 'Arn'),
    created: textAt(role, 'CreateDate'),
    description: textAt(role, 'Description'),
    seconds: Number(textAt(role, 'MaxSessionDuration')),
    trust: documentOf(textAt(role, 'AssumeRolePolicyDocument')),
    policies: await policiesOf({ kind: 'Role', name }),
  };
}

export function RolePage({ name }: { name: string }) {
  const [known, setKnown] = useState<Known | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [editing, setEditing] = useState(false);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const look = () => load(name).then(setKnown, setError);
  useEffect(() => void look(), []);
  if (error !== null && known === null) {
    return (
      <>
        <Head name={name} />
        <ErrorBox error={error} />
      </>
    );
  }
  if (known === null) return <p class="loading">Asking for {name}…</p>;
  const remove = async () => {
    const yes = await ask({
      title: `Delete the role ${name}?`,
      body: 'Its policies go with it, and credentials that were given out for it are refused.',
      confirm: 'Delete the role',
      dangerous: true,
      typed: name,
    });
    if (!yes) return;
    try {
      await removePolicies({ kind: 'Role', name }, known.policies);
      await iam('DeleteRole', { RoleName: name });
      say(`${name} is deleted`);
      await go(href(['access']));
    } catch (thrown) {
      sayError(thrown);
      void look();
    }
  };
  return (
    <>
      <Head name={name}>
        <Delete what="role" why={why} onClick={() => void remove()} />
      </Head>
      <section class="card card-body">
        <dl class="facts">
          <dt>ARN</dt>
          <dd class="mono small">{known.arn}</dd>
          {known.description !== '' && (
            <>
              <dt>For</dt>
              <dd>{known.description}</dd>
            </>
          )}
          <dt>Since</dt>
          <dd>{day(known.created)}</dd>
          <dt>Taken for</dt>
          <dd>{duration(known.seconds)} at most</dd>
        </dl>
      </section>
      <section class="card" aria-labelledby="trust-title">
        <header>
          <h2 id="trust-title">Who may take it</h2>
          <button
            type="button"
            class="small"
            disabled={why !== undefined}
            title={why}
            onClick={() => setEditing(true)}
          >
            <Icon name="edit" />
            Change…
          </button>
        </header>
        <div class="card-body stack">
          <CodeText label="Trust policy" text={known.trust} />
          <CodeText
            label="Take it with the AWS CLI"
            text={`aws sts assume-role --role-arn ${known.arn} --role-session-name me`}
          />
        </div>
      </section>
      <Policies
        owner={{ kind: 'Role', name, arn: known.arn }}
        policies={known.policies}
        none={`None: whoever takes ${name} may do nothing.`}
        look={look}
      />
      <Ask arn={known.arn} users={[]} />
      {editing && (
        <TrustDialog
          of={name}
          arn={known.arn}
          trust={known.trust}
          onClose={() => setEditing(false)}
          onSaved={() => {
            setEditing(false);
            say('The trust policy is in force');
            void look();
          }}
        />
      )}
    </>
  );
}
