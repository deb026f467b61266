// One group: who is in it, and the policies that they share.
import { useEffect, useState } from 'preact/hooks';
import { iam } from '../../api/iam.ts';
import { go, href } from '../../app/router.ts';
import { boot } from '../../app/state.ts';
import { type User, userOf } from '../../model/iam.ts';
import { childOf, membersOf, textAt } from '../../model/xml.ts';
import { ask } from '../../ui/dialog.tsx';
import { day, plural } from '../../ui/format.ts';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { Choose } from './choose.tsx';
import { Delete, Head } from './head.tsx';
import { listUsers } from './lists.ts';
import { type OwnPolicies, Policies, policiesOf, removePolicies } from './policies.tsx';

interface Known {
  arn: string;
  created: string;
  users: User[];
  policies: OwnPolicies;
}

async function load(name: string): Promise<Known> {
  const reply = await iam('GetGroup', { GroupName: name }, { background: true });
  const group = childOf(reply, 'Group');
  return {
    arn: textAt(group, 'Arn'),
    created: textAt(group, 'CreateDate'),
    users: membersOf(reply, 'Users').map(userOf),
    policies: await policiesOf({ kind: 'Group', name }),
  };
}

export function GroupPage({ name }: { name: string }) {
  const [known, setKnown] = useState<Known | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [everybody, setEverybody] = useState<User[]>([]);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const look = () => load(name).then(setKnown, setError);
  useEffect(() => {
    void look();
    listUsers().then(setEverybody, () => setEverybody([]));
  }, []);
  if (error !== null && known === null) {
    return (
      <>
        <Head name={name} />
        <ErrorBox error={error} />
      </>
    );
  }
  if (known === null) return <p class="loading">Asking for {name}…</p>;
  const change = async (act: () => Promise<unknown>, done: string) => {
    try {
      await act();
      await look();
      say(done);
    } catch (thrown) {
      sayError(thrown);
    }
  };
  const remove = async () => {
    const yes = await ask({
      title: `Delete the group ${name}?`,
      body: `Its policies go with it. ${plural(known.users.length, 'user')} in it may then do what their own policies allow.`,
      confirm: 'Delete the group',
      dangerous: true,
      typed: known.users.length > 0 ? name : undefined,
    });
    if (!yes) return;
    try {
      for (const user of known.users)
        await iam('RemoveUserFromGroup', { GroupName: name, UserName: user.name });
      await removePolicies({ kind: 'Group', name }, known.policies);
      await iam('DeleteGroup', { GroupName: name });
      say(`${name} is deleted`);
      await go(href(['access']));
    } catch (thrown) {
      sayError(thrown);
      void look();
    }
  };
  const others = everybody.filter((one) => !known.users.some((user) => user.name === one.name));
  return (
    <>
      <Head name={name}>
        <Delete what="group" why={why} onClick={() => void remove()} />
      </Head>
      <section class="card card-body">
        <dl class="facts">
          <dt>ARN</dt>
          <dd class="mono small">{known.arn}</dd>
          <dt>Since</dt>
          <dd>{day(known.created)}</dd>
        </dl>
      </section>
      <section class="card" aria-labelledby="members-title">
        <header>
          <h2 id="members-title">Users in it</h2>
        </header>
        <div class="card-body stack">
          {known.users.length === 0 && <p class="muted">None yet.</p>}
          <ul>
            {known.users.map((user) => (
              <li class="rule" key={user.arn}>
                <div>
                  <a href={href(['access', 'users', user.name])}>{user.name}</a>
                </div>
                <button
                  type="button"
                  class="small"
                  disabled={why !== undefined}
                  title={why}
                  aria-label={`Take out ${user.name}`}
                  onClick={() =>
                    void change(
                      () => iam('RemoveUserFromGroup', { GroupName: name, UserName: user.name }),
                      `${user.name} is out of ${name}`,
                    )
                  }
                >
                  Take out
                </button>
              </li>
            ))}
          </ul>
          <Choose
            label="Add a user to the group"
            prompt="Add a user…"
            from={others}
            why={why}
            onChosen={(user) =>
              void change(
                () => iam('AddUserToGroup', { GroupName: name, UserName: user.name }),
                `${user.name} is in ${name}`,
              )
            }
          />
        </div>
      </section>
      <Policies
        owner={{ kind: 'Group', name, arn: known.arn }}
        policies={known.policies}
        none={`None: being in ${name} allows nothing.`}
        look={look}
      />
    </>
  );
}
