// Writes the own policy of a user, group or role, from a template or by hand.
import { useState } from 'preact/hooks';
import { iam } from '../../api/iam.ts';
import { boot, tableNames } from '../../app/state.ts';
import { documentError, kTemplates, type Owner } from '../../model/iam.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { ErrorBox } from '../../ui/told.tsx';

export interface PolicyDialogProps {
  owner: Owner;
  // An empty name: a new one.
  policy: { name: string; document: string };
  onClose: () => void;
  onSaved: (name: string) => void;
}

export function PolicyDialog({ owner, policy, onClose, onSaved }: PolicyDialogProps) {
  const isNew = policy.name === '';
  const [name, setName] = useState(policy.name);
  const [text, setText] = useState(policy.document);
  const [template, setTemplate] = useState('');
  const [table, setTable] = useState('*');
  const [error, setError] = useState<unknown>(null);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const wrongName = name !== '' && !/^[\w+=,.@-]{1,128}$/.test(name);
  const wrongText = text.trim() === '' ? null : documentError(text);
  const fill = (id: string, of: string) => {
    setTemplate(id);
    setTable(of);
    const chosen = kTemplates.find((one) => one.id === id);
    if (!chosen) return;
    setText(chosen.make(boot.value?.region ?? '*', owner.arn.split(':')[4] ?? '*', of));
    if (isNew && (name === '' || kTemplates.some((one) => name.startsWith(one.id))))
      setName(of === '*' ? id : `${id}-${of}`);
  };
  const save = async () => {
    try {
      await iam(`Put${owner.kind}Policy`, {
        [`${owner.kind}Name`]: owner.name,
        PolicyName: name,
        PolicyDocument: text,
      });
      onSaved(name);
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog
      title={isNew ? `A policy of ${owner.name}` : policy.name}
      wide
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            disabled={
              why !== undefined ||
              name === '' ||
              wrongName ||
              wrongText !== null ||
              text.trim() === '' ||
              text === policy.document
            }
            title={why}
            onClick={() => void save()}
          >
            Save the policy
          </button>
        </>
      }
    >
      <div class="fields">
        <Field label="Begin with">
          {(ids) => (
            <select
              {...ids}
              value={template}
              onChange={(event) => fill(event.currentTarget.value, table)}
            >
              <option value="">what is written below</option>
              {kTemplates.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}: {one.says}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Table">
          {(ids) => (
            <select
              {...ids}
              value={table}
              disabled={template === ''}
              onChange={(event) => fill(template, event.currentTarget.value)}
            >
              <option value="*">every table</option>
              {tableNames.value.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          )}
        </Field>
        {isNew && (
          <Field
            label="Name of the policy"
            error={wrongName ? 'At most 128 letters, digits and + = , . @ _ -' : null}
          >
            {(ids) => (
              <input
                {...ids}
                spellcheck={false}
                autocomplete="off"
                value={name}
                onInput={(event) => setName(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
      </div>
      <Field label="Document" error={wrongText}>
        {(ids) => (
          <textarea
            {...ids}
            class="mono wide"
            rows={16}
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
