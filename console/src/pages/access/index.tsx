// Users, groups and roles of a server with access control, and what they may do: IAM's API.
import { useEffect, useState } from 'preact/hooks';
import { iam } from '../../api/iam.ts';
import { go, href, route } from '../../app/router.ts';
import { session } from '../../app/session.ts';
import { boot } from '../../app/state.ts';
import { type Named, type User, wrongIamName } from '../../model/iam.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { day } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Scroll } from '../../ui/scroll.tsx';
import { ErrorBox, say } from '../../ui/told.tsx';
import { Ask } from './ask.tsx';
import { GroupPage } from './group.tsx';
import { listGroups, listRoles, listUsers } from './lists.ts';
import { RolePage } from './role.tsx';
import { TrustDialog } from './trust.tsx';
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
  if (kind === 'users' && name) return <UserPage key={name} name={name} />;
  if (kind === 'groups' && name) return <GroupPage key={name} name={name} />;
  if (kind === 'roles' && name) return <RolePage key={name} name={name} />;
  return <Everybody />;
}

type Adding = 'user' | 'group' | 'role';

function Everybody() {
  const [users, setUsers] = useState<User[] | null>(null);
  const [adding, setAdding] = useState<Adding | null>(null);
  const who = session.value;
  return (
    <>
      <header class="page-head">
        <h1>Access</h1>
        <span class="muted">
          You are <code>{who?.arn}</code>
        </span>
      </header>
      <List
        kind="user"
        title="Users"
        says="A user may do what its policies and those of its groups allow and nothing else; the root user may do everything."
        none="There is the root user alone."
        list={listUsers}
        onListed={setUsers}
        onAdd={() => setAdding('user')}
      />
      <List
        kind="group"
        title="Groups"
        says="The users of a group share its policies."
        none="None yet. A group says once what several users may do."
        list={listGroups}
        onAdd={() => setAdding('group')}
      />
      <List
        kind="role"
        title="Roles"
        says="A role is taken for some hours, by whom its trust policy names, with keys that end by themselves."
        none="None yet. A role gives a program other rights for a time, without a key of its own."
        list={listRoles}
        onAdd={() => setAdding('role')}
      />
      <Ask arn={null} users={users ?? []} />
      {(adding === 'user' || adding === 'group') && (
        <AddNamed kind={adding} onClose={() => setAdding(null)} />
      )}
      {adding === 'role' && (
        <TrustDialog
          of={null}
          arn={who?.arn ?? ''}
          trust=""
          onClose={() => setAdding(null)}
          onSaved={(name) => {
            say(`${name} is a role, without policies yet`);
            void go(href(['access', 'roles', name]));
          }}
        />
      )}
    </>
  );
}

interface ListProps<T extends Named> {
  kind: Adding;
  title: string;
  says: string;
  none: string;
  list: () => Promise<T[]>;
  onListed?: (all: T[]) => void;
  onAdd: () => void;
}

function List<T extends Named>({ kind, title, says, none, list, onListed, onAdd }: ListProps<T>) {
  const [all, setAll] = useState<T[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  useEffect(() => {
    list().then((found) => {
      setAll(found);
      onListed?.(found);
    }, setError);
  }, []);
  return (
    <section class="card" aria-labelledby={`${kind}s-title`}>
      <header>
        <h2 id={`${kind}s-title`}>
          {title} {all && all.length > 0 && <span class="muted num">{all.length}</span>}
        </h2>
        <button
          type="button"
          class="small"
          disabled={why !== undefined}
          title={why}
          onClick={onAdd}
        >
          <Icon name="plus" />
          Add a {kind}
        </button>
      </header>
      <div class="card-body stack tight">
        <p class="muted">{says}</p>
        {error !== null && <ErrorBox error={error} />}
        {all === null && error === null && <p class="loading">Asking the server…</p>}
        {all?.length === 0 && <p>{none}</p>}
        {all && all.length > 0 && (
          <Scroll label={`List of ${kind}s`}>
            <table class="plain">
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">ARN</th>
                  <th scope="col">Since</th>
                </tr>
              </thead>
              <tbody>
                {all.map((one) => (
                  <tr key={one.arn}>
                    <th scope="row">
                      <a href={href(['access', `${kind}s`, one.name])}>{one.name}</a>
                    </th>
                    <td class="mono small">{one.arn}</td>
                    <td class="muted">{day(one.created)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </div>
    </section>
  );
}

const kWords = {
  user: {
    action: 'CreateUser',
    hint: 'A person, or a program with keys of its own',
    done: 'is a user, without keys and policies yet',
  },
  group: {
    action: 'CreateGroup',
    hint: 'Such as readers, or the name of a team',
    done: 'is a group, without users and policies yet',
  },
} as const;

function AddNamed({ kind, onClose }: { kind: 'user' | 'group'; onClose: () => void }) {
  const [name, setName] = useState('');
  const [error, setError] = useState<unknown>(null);
  const wrong = name === '' ? null : wrongIamName(name, kind === 'group' ? 128 : 64);
  const words = kWords[kind];
  const ready = name !== '' && wrong === null;
  const add = async () => {
    try {
      await iam(words.action, { [kind === 'user' ? 'UserName' : 'GroupName']: name });
      say(`${name} ${words.done}`);
      onClose();
      await go(href(['access', `${kind}s`, name]));
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog
      title={`Add a ${kind}`}
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="primary" disabled={!ready} onClick={() => void add()}>
            Add the {kind}
          </button>
        </>
      }
    >
      <Field label={`Name of the ${kind}`} hint={words.hint} error={wrong}>
        {(ids) => (
          <input
            {...ids}
            autofocus
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && ready) void add();
            }}
          />
        )}
      </Field>
      {error !== null && <ErrorBox error={error} />}
    </Dialog>
  );
}
