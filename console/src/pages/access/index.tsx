// Users of a server with access control, their keys and policies, and what they may do: IAM's API.
import { useEffect, useState } from 'preact/hooks';
import { iam } from '../../api/iam.ts';
import { go, href, route } from '../../app/router.ts';
import { session } from '../../app/session.ts';
import { boot } from '../../app/state.ts';
import { type User, userOf } from '../../model/iam.ts';
import { membersOf } from '../../model/xml.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { day } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox, say } from '../../ui/told.tsx';
import { Ask } from './ask.tsx';
import { UserPage } from './user.tsx';

export default function Access() {
  const [, kind, name] = route.value.path;
  const who = session.value;
  if (!who) {
    return (
      <div class="empty">
        <h1>Nobody is signed in</h1>
        <p class="muted">
          Users, keys and policies are shown to a user who may see them, on a server that runs with{' '}
          <code>--auth=warn</code> or <code>--auth=enforce</code>.
        </p>
      </div>
    );
  }
  return kind === 'users' && name ? <UserPage key={name} name={name} /> : <Users />;
}

// All users, page by page.
async function listUsers(): Promise<User[]> {
  const users: User[] = [];
  let marker: string | undefined;
  do {
    const page = await iam('ListUsers', { Marker: marker }, { background: true });
    users.push(...membersOf(page, 'Users').map(userOf));
    marker = page?.children.find((one) => one.name === 'Marker')?.text;
  } while (marker);
  return users;
}

function Users() {
  const [users, setUsers] = useState<User[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [adding, setAdding] = useState(false);
  const who = session.value;
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  useEffect(() => {
    listUsers().then(setUsers, setError);
  }, []);
  return (
    <>
      <header class="page-head">
        <h1>Access</h1>
        <div class="row">
          <button
            type="button"
            class="primary"
            disabled={why !== undefined}
            title={why}
            onClick={() => setAdding(true)}
          >
            <Icon name="plus" />
            Add a user
          </button>
        </div>
      </header>
      {error !== null && <ErrorBox error={error} />}
      <section class="card" aria-labelledby="users-title">
        <header>
          <h2 id="users-title">Users</h2>
        </header>
        <div class="card-body stack">
          <p class="muted">
            You are <code>{who?.arn}</code>. A user may do what its policies allow and nothing else;
            the root user may do everything.
          </p>
          {users === null && error === null && <p class="loading">Asking for the users…</p>}
          {users?.length === 0 && <p>There is the root user alone.</p>}
          {users && users.length > 0 && (
            <div class="scroll-x">
              <table class="plain">
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">ARN</th>
                    <th scope="col">Since</th>
                  </tr>
                </thead>
                <tbody>
                  {users.map((user) => (
                    <tr key={user.arn}>
                      <th scope="row">
                        <a href={href(['access', 'users', user.name])}>{user.name}</a>
                      </th>
                      <td class="mono small">{user.arn}</td>
                      <td class="muted">{day(user.created)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </div>
      </section>
      <Ask arn={null} users={users ?? []} />
      {adding && <AddUser onClose={() => setAdding(false)} />}
    </>
  );
}

function AddUser({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [error, setError] = useState<unknown>(null);
  const wrong = name !== '' && !/^[\w+=,.@-]{1,64}$/.test(name);
  const add = async () => {
    try {
      await iam('CreateUser', { UserName: name });
      say(`${name} is a user, without keys and policies yet`);
      onClose();
      await go(href(['access', 'users', name]));
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog
      title="Add a user"
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            disabled={name === '' || wrong}
            onClick={() => void add()}
          >
            Add the user
          </button>
        </>
      }
    >
      <Field
        label="Name of the user"
        hint="A person, or a program with keys of its own"
        error={wrong ? 'At most 64 letters, digits and + = , . @ _ -' : null}
      >
        {(ids) => (
          <input
            {...ids}
            autofocus
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && name !== '' && !wrong) void add();
            }}
          />
        )}
      </Field>
      {error !== null && <ErrorBox error={error} />}
    </Dialog>
  );
}
