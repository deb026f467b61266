// Who may take a role: written for a new one, changed for one that there is.
import { useEffect, useState } from 'preact/hooks';
import { iam } from '../../api/iam.ts';
import { session } from '../../app/session.ts';
import { documentError, trustOf, type User, wrongIamName } from '../../model/iam.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { listUsers } from './lists.ts';

export interface TrustDialogProps {
  // null: a new role.
  of: string | null;
  arn: string;
  trust: string;
  onClose: () => void;
  onSaved: (role: string) => void;
}

export function TrustDialog({ of: role, arn, trust, onClose, onSaved }: TrustDialogProps) {
  const account = arn.split(':')[4] ?? '';
  const root = `arn:aws:iam::${account}:root`;
  const [name, setName] = useState(role ?? '');
  const [about, setAbout] = useState('');
  const [text, setText] = useState(trust === '' ? trustOf(root) : trust);
  const [users, setUsers] = useState<User[]>([]);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    listUsers().then(setUsers, () => setUsers([]));
  }, []);
  const wrong = name === '' ? null : wrongIamName(name);
  const wrongText = documentError(text);
  const blocked = name === '' || wrong !== null || wrongText !== null;
  const save = async () => {
    try {
      if (role === null)
        await iam('CreateRole', {
          RoleName: name,
          AssumeRolePolicyDocument: text,
          Description: about.trim() === '' ? undefined : about.trim(),
        });
      else await iam('UpdateAssumeRolePolicy', { RoleName: role, PolicyDocument: text });
      onSaved(name);
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog
      title={role === null ? 'Add a role' : `Who may take ${role}`}
      wide
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="primary" disabled={blocked} onClick={() => void save()}>
            {role === null ? 'Add the role' : 'Save'}
          </button>
        </>
      }
    >
      {role === null && (
        <div class="fields">
          <Field label="Name of the role" error={wrong}>
            {(ids) => (
              <input
                {...ids}
                autofocus
                spellcheck={false}
                autocomplete="off"
                value={name}
                onInput={(event) => setName(event.currentTarget.value)}
              />
            )}
          </Field>
          <Field label="What it is for">
            {(ids) => (
              <input
                {...ids}
                autocomplete="off"
                value={about}
                onInput={(event) => setAbout(event.currentTarget.value)}
              />
            )}
          </Field>
        </div>
      )}
      <Field
        label="May be taken by"
        hint="Who is chosen here is written below; a user’s own policies must allow sts:AssumeRole too"
      >
        {(ids) => (
          <select
            {...ids}
            value=""
            onChange={(event) => {
              if (event.currentTarget.value !== '') setText(trustOf(event.currentTarget.value));
              event.currentTarget.value = '';
            }}
          >
            <option value="">what is written below</option>
            <option value={root}>everyone in the account</option>
            {users.map((one) => (
              <option key={one.arn} value={one.arn}>
                {one.name}
              </option>
            ))}
            {session.value && !users.some((one) => one.arn === session.value?.arn) && (
              <option value={session.value.arn}>you</option>
            )}
          </select>
        )}
      </Field>
      <Field label="Trust policy" error={wrongText}>
        {(ids) => (
          <textarea
            {...ids}
            class="mono wide"
            rows={12}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      {error !== null && <ErrorBox error={error} />}
    </Dialog>
  );
}
