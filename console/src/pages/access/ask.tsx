// "May X do Y on Z?", with the statement that decides.
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../../api/errors.ts';
import { iam } from '../../api/iam.ts';
import { isMissing, management } from '../../api/management.ts';
import { boot, tableNames } from '../../app/state.ts';
import {
  type Decision,
  decisionOfWhy,
  decisionsOf,
  kDecisionWords,
  type User,
  type Why,
} from '../../model/iam.ts';
import { Field } from '../../ui/field.tsx';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox } from '../../ui/told.tsx';

const kActions = [
  'dynamodb:GetItem',
  'dynamodb:BatchGetItem',
  'dynamodb:Query',
  'dynamodb:Scan',
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
  'dynamodb:ConditionCheckItem',
  'dynamodb:PartiQLSelect',
  'dynamodb:PartiQLInsert',
  'dynamodb:PartiQLUpdate',
  'dynamodb:PartiQLDelete',
  'dynamodb:CreateTable',
  'dynamodb:UpdateTable',
  'dynamodb:DeleteTable',
  'dynamodb:DescribeTable',
  'dynamodb:ListTables',
  'dynamodb:GetRecords',
  'stator:GetPartitions',
  'stator:GetHeat',
  'stator:PutThrottling',
  'stator:PutFaults',
  'stator:Reset',
];

export interface AskProps {
  // The user; null: chosen here.
  arn: string | null;
  users: readonly User[];
}

export function Ask({ arn, users }: AskProps) {
  const [chosen, setChosen] = useState('');
  const [action, setAction] = useState('dynamodb:GetItem');
  const [table, setTable] = useState('*');
  const [leading, setLeading] = useState('');
  const [answer, setAnswer] = useState<Decision | null>(null);
  const [error, setError] = useState<unknown>(null);
  const server = boot.value;
  const subject = arn ?? (chosen || (users[0]?.arn ?? ''));
  const resource =
    table === '*' ? '*' : `arn:aws:dynamodb:${server?.region}:${accountOf(subject)}:table/${table}`;
  // What was asked before is no answer to this.
  useEffect(() => {
    setAnswer(null);
    setError(null);
  }, [subject, action, resource, leading]);
  if (arn === null && users.length === 0) return null;
  const ask = async () => {
    try {
      setAnswer(await decide(subject, action, resource, leading));
      setError(null);
    } catch (thrown) {
      setError(thrown);
    }
  };
  const good = answer?.decision === 'allowed';
  return (
    <section class="card" aria-labelledby="ask-title">
      <header>
        <h2 id="ask-title">May they?</h2>
      </header>
      <form
        class="card-body stack"
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <div class="fields">
          {arn === null && (
            <Field label="User">
              {(ids) => (
                <select
                  {...ids}
                  value={subject}
                  onChange={(event) => setChosen(event.currentTarget.value)}
                >
                  {users.map((user) => (
                    <option key={user.arn} value={user.arn}>
                      {user.name}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
          <Field label="Action">
            {(ids) => (
              <>
                <input
                  {...ids}
                  class="mono"
                  list="iam-actions"
                  spellcheck={false}
                  value={action}
                  onInput={(event) => setAction(event.currentTarget.value)}
                />
                <datalist id="iam-actions">
                  {kActions.map((one) => (
                    <option key={one} value={one} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
          <Field label="Table">
            {(ids) => (
              <select
                {...ids}
                value={table}
                onChange={(event) => setTable(event.currentTarget.value)}
              >
                <option value="*">any (*)</option>
                {tableNames.value.map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Partition key value" hint="where a policy looks at dynamodb:LeadingKeys">
            {(ids) => (
              <input
                {...ids}
                class="mono"
                spellcheck={false}
                value={leading}
                onInput={(event) => setLeading(event.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <div class="row">
          <button type="submit" disabled={action === '' || subject === ''}>
            Ask
          </button>
          {answer && (
            <p role="status" class={good ? 'good-text' : 'bad-text'}>
              <Icon name={good ? 'check' : 'close'} />{' '}
              <strong>{kDecisionWords[answer.decision]}</strong>
              {answer.reason === null && answer.by.length > 0 && (
                <span> by {answer.by.join(', ')}</span>
              )}
            </p>
          )}
        </div>
        {answer?.reason && <p class="note">{answer.reason}</p>}
        {answer && answer.missing.length > 0 && (
          <p class="hint">
            Policies read {answer.missing.join(', ')} too, and the question has no value for that.
          </p>
        )}
        {error !== null && <ErrorBox error={error} />}
      </form>
    </section>
  );
}

// The server's own call names the statement; SimulatePrincipalPolicy, which older servers have and
// other users may be allowed, the policy.
async function decide(
  principal: string,
  action: string,
  resource: string,
  leading: string,
): Promise<Decision | null> {
  try {
    const context = leading === '' ? {} : { 'dynamodb:LeadingKeys': [leading] };
    const why = await management<Why>('access/why', {
      method: 'POST',
      body: { principal, action, resource, context },
    });
    return decisionOfWhy(why);
  } catch (error) {
    if (!isMissing(error) && !(error instanceof ApiError && error.isDenied)) throw error;
  }
  const reply = await iam('SimulatePrincipalPolicy', {
    PolicySourceArn: principal,
    ActionNames: [action],
    ResourceArns: [resource],
    ContextEntries:
      leading === ''
        ? undefined
        : [
            {
              ContextKeyName: 'dynamodb:LeadingKeys',
              ContextKeyType: 'stringList',
              ContextKeyValues: [leading],
            },
          ],
  });
  return decisionsOf(reply)[0] ?? null;
}

const accountOf = (arn: string): string => arn.split(':')[4] ?? '';
