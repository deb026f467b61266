// One user: keys, policies, what it may do.
import { useEffect, useState } from 'preact/hooks';
import { iam } from '../../api/iam.ts';
import { go, href } from '../../app/router.ts';
import { session } from '../../app/session.ts';
import { boot, refresh } from '../../app/state.ts';
import { type AccessKey, keyOf, type Named, type User, userOf } from '../../model/iam.ts';
import { childOf, membersOf, textAt } from '../../model/xml.ts';
import { CodeText } from '../../ui/code.tsx';
import { ask, Dialog } from '../../ui/dialog.tsx';
import { day } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { Ask } from './ask.tsx';
import { Choose } from './choose.tsx';
import { Delete, Head } from './head.tsx';
import { listGroups } from './lists.ts';
import { type OwnPolicies, Policies, policiesOf, removePolicies } from './policies.tsx';

interface Known {
  user: User;
  keys: AccessKey[];
  lastUsed: Map<string, string>;
  policies: OwnPolicies;
  groups: string[];
}

async function load(name: string): Promise<Known> {
  const quiet = { background: true };
  const UserName = name;
  const user = userOf(childOf(await iam('GetUser', { UserName }, quiet), 'User'));
  const keys = membersOf(await iam('ListAccessKeys', { UserName }, quiet), 'AccessKeyMetadata').map(
    keyOf,
  );
  const lastUsed = new Map<string, string>();
  for (const key of keys) {
    const used = await iam('GetAccessKeyLastUsed', { AccessKeyId: key.id }, quiet);
    lastUsed.set(key.id, textAt(used, 'AccessKeyLastUsed', 'LastUsedDate'));
  }
  return {
    user,
    keys,
    lastUsed,
    policies: await policiesOf({ kind: 'User', name }),
    groups: membersOf(await iam('ListGroupsForUser', { UserName }, quiet), 'Groups').map((one) =>
      textAt(one, 'GroupName'),
    ),
  };
}

interface NewKey {
  id: string;
  secret: string;
}

export function UserPage({ name }: { name: string }) {
  const [known, setKnown] = useState<Known | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [made, setMade] = useState<NewKey | null>(null);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const own = session.value?.arn === known?.user.arn;

  const look = () => load(name).then(setKnown, setError);
  useEffect(() => {
    void look();
  }, []);
  const change = async (act: () => Promise<unknown>, done: string) => {
    try {
      await act();
      await look();
      if (done !== '') say(done);
    } catch (thrown) {
      sayError(thrown);
    }
  };

  if (error !== null && known === null) {
    return (
      <>
        <Head name={name} />
        <ErrorBox error={error} />
      </>
    );
  }
  if (known === null) return <p class="loading">Asking for {name}…</p>;

  const UserName = name;
  const makeKey = () =>
    change(async () => {
      const key = childOf(await iam('CreateAccessKey', { UserName }), 'AccessKey');
      setMade({ id: textAt(key, 'AccessKeyId'), secret: textAt(key, 'SecretAccessKey') });
    }, '');
  const deleteKey = async (key: AccessKey) => {
    const yes = await ask({
      title: `Delete the key ${key.id}?`,
      body: 'Programs that sign with it are refused from then on. This cannot be undone.',
      confirm: 'Delete the key',
      dangerous: true,
    });
    if (yes)
      await change(() => iam('DeleteAccessKey', { UserName, AccessKeyId: key.id }), 'Key deleted');
  };
  const deleteUser = async () => {
    const yes = await ask({
      title: `Delete ${name}?`,
      body: 'Its keys and its own policies go with it, and its sessions end.',
      confirm: 'Delete the user',
      dangerous: true,
      typed: name,
    });
    if (!yes) return;
    try {
      for (const key of known.keys) await iam('DeleteAccessKey', { UserName, AccessKeyId: key.id });
      await removePolicies({ kind: 'User', name }, known.policies);
      for (const one of known.groups)
        await iam('RemoveUserFromGroup', { UserName, GroupName: one });
      await iam('DeleteUser', { UserName });
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
        <Delete what="user" why={own ? 'This is you' : why} onClick={() => void deleteUser()} />
      </Head>
      <section class="card card-body">
        <dl class="facts">
          <dt>ARN</dt>
          <dd class="mono small">{known.user.arn}</dd>
          <dt>Since</dt>
          <dd>{day(known.user.created)}</dd>
        </dl>
      </section>
      <section class="card" aria-labelledby="keys-title">
        <header>
          <h2 id="keys-title">Access keys</h2>
          <button
            type="button"
            class="small"
            disabled={why !== undefined || known.keys.length >= 2}
            title={known.keys.length >= 2 ? 'A user has two keys at most' : why}
            onClick={() => void makeKey()}
          >
            <Icon name="plus" />
            Make a key
          </button>
        </header>
        <div class="card-body">
          {known.keys.length === 0 ? (
            <p class="muted">None: {name} cannot sign a request yet.</p>
          ) : (
            <div class="scroll-x">
              <table class="plain">
                <thead>
                  <tr>
                    <th scope="col">Key</th>
                    <th scope="col">State</th>
                    <th scope="col">Since</th>
                    <th scope="col">Last used</th>
                    <th scope="col">
                      <span class="visually-hidden">Change</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {known.keys.map((key) => (
                    <tr key={key.id}>
                      <th scope="row" class="mono">
                        {key.id}
                      </th>
                      <td>
                        <span class={`badge ${key.active ? 'good' : ''}`}>
                          {key.active ? 'active' : 'inactive'}
                        </span>
                      </td>
                      <td class="muted">{day(key.created)}</td>
                      <td class="muted">{day(known.lastUsed.get(key.id) ?? '') || 'not known'}</td>
                      <td>
                        <div class="row end">
                          <button
                            type="button"
                            class="small"
                            disabled={why !== undefined}
                            title={why}
                            aria-label={`${key.active ? 'Deactivate' : 'Activate'} ${key.id}`}
                            onClick={() =>
                              void change(
                                () =>
                                  iam('UpdateAccessKey', {
                                    UserName,
                                    AccessKeyId: key.id,
                                    Status: key.active ? 'Inactive' : 'Active',
                                  }),
                                key.active ? 'The key is refused from now on' : 'The key is active',
                              )
                            }
                          >
                            {key.active ? 'Deactivate' : 'Activate'}
                          </button>
                          <button
                            type="button"
                            class="small quiet"
                            disabled={why !== undefined}
                            title={why}
                            aria-label={`Delete ${key.id}`}
                            onClick={() => void deleteKey(key)}
                          >
                            <Icon name="trash" />
                          </button>
                        </div>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </div>
      </section>
      <Groups name={name} groups={known.groups} look={look} />
      <Policies
        owner={{ kind: 'User', name, arn: known.user.arn }}
        policies={known.policies}
        none={known.groups.length > 0 ? 'None of its own.' : `None: ${name} may do nothing.`}
        look={look}
      />
      <Ask arn={known.user.arn} users={[]} />
      {made && (
        <KeyDialog
          made={made}
          name={name}
          onClose={() => {
            setMade(null);
            void refresh();
          }}
        />
      )}
    </>
  );
}

function Groups({
  name,
  groups,
  look,
}: {
  name: string;
  groups: readonly string[];
  look: () => Promise<unknown>;
}) {
  const [all, setAll] = useState<Named[]>([]);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  useEffect(() => {
    listGroups().then(setAll, () => setAll([]));
  }, []);
  const change = async (action: string, group: string, done: string) => {
    try {
      await iam(action, { GroupName: group, UserName: name });
      await look();
      say(done);
    } catch (thrown) {
      sayError(thrown);
    }
  };
  const others = all.filter((one) => !groups.includes(one.name));
  return (
    <section class="card" aria-labelledby="groups-title">
      <header>
        <h2 id="groups-title">Groups</h2>
      </header>
      <div class="card-body stack tight">
        {groups.length === 0 && <p class="muted">None.</p>}
        <ul>
          {groups.map((one) => (
            <li class="rule" key={one}>
              <div>
                <a href={href(['access', 'groups', one])}>{one}</a>
              </div>
              <button
                type="button"
                class="small"
                disabled={why !== undefined}
                title={why}
                aria-label={`Take out of ${one}`}
                onClick={() => void change('RemoveUserFromGroup', one, `${name} is out of ${one}`)}
              >
                Take out
              </button>
            </li>
          ))}
        </ul>
        <Choose
          label="Add to a group"
          prompt="Add to a group…"
          from={others}
          why={why}
          onChosen={(group) =>
            void change('AddUserToGroup', group.name, `${name} is in ${group.name}`)
          }
        />
      </div>
    </section>
  );
}

// Shown once: the server keeps the secret sealed and tells it to no caller again.
function KeyDialog({ made, name, onClose }: { made: NewKey; name: string; onClose: () => void }) {
  return (
    <Dialog
      title={`A key for ${name}`}
      onClose={onClose}
      footer={
        <button type="button" class="primary" onClick={onClose}>
          I have it
        </button>
      }
    >
      <p>The secret is shown now and never again.</p>
      <CodeText
        label="~/.aws/credentials"
        text={`[${name}]\naws_access_key_id = ${made.id}\naws_secret_access_key = ${made.secret}\n`}
      />
    </Dialog>
  );
}
