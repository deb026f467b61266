// The policies of a user, group or role: its own, and those attached to it.
import { useEffect, useState } from 'preact/hooks';
import { iam } from '../../api/iam.ts';
import { boot } from '../../app/state.ts';
import { attachedOf, documentOf, listedOf, type NamedPolicy, type Owner } from '../../model/iam.ts';
import { membersOf, textAt } from '../../model/xml.ts';
import { ask } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { say, sayError } from '../../ui/told.tsx';
import { Choose } from './choose.tsx';
import { PolicyDialog } from './policy.tsx';

export interface OwnPolicies {
  inline: string[];
  attached: NamedPolicy[];
}

// The parameter that names the owner: UserName, GroupName, RoleName.
export const ownerOf = (owner: Pick<Owner, 'kind' | 'name'>): Record<string, string> => ({
  [`${owner.kind}Name`]: owner.name,
});

export async function policiesOf(owner: Pick<Owner, 'kind' | 'name'>): Promise<OwnPolicies> {
  const quiet = { background: true };
  const of = ownerOf(owner);
  const [inline, attached] = await Promise.all([
    iam(`List${owner.kind}Policies`, of, quiet),
    iam(`ListAttached${owner.kind}Policies`, of, quiet),
  ]);
  return {
    inline: membersOf(inline, 'PolicyNames').map((one) => one.text),
    attached: attachedOf(attached),
  };
}

// Removes all of them, as has to be done before the owner can be deleted.
export async function removePolicies(
  owner: Pick<Owner, 'kind' | 'name'>,
  policies: OwnPolicies,
): Promise<void> {
  const of = ownerOf(owner);
  for (const one of policies.inline)
    await iam(`Delete${owner.kind}Policy`, { ...of, PolicyName: one });
  for (const one of policies.attached)
    await iam(`Detach${owner.kind}Policy`, { ...of, PolicyArn: one.arn });
}

export interface PoliciesProps {
  owner: Owner;
  policies: OwnPolicies;
  // What is said where there is none.
  none: string;
  look: () => Promise<unknown>;
}

export function Policies({ owner, policies, none, look }: PoliciesProps) {
  const [all, setAll] = useState<NamedPolicy[]>([]);
  // The inline policy that is edited; an empty name: a new one.
  const [edited, setEdited] = useState<{ name: string; document: string } | null>(null);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  useEffect(() => {
    iam('ListPolicies', {}, { background: true }).then(
      (reply) => setAll(listedOf(reply)),
      () => setAll([]),
    );
  }, []);
  const of = ownerOf(owner);
  const change = async (act: () => Promise<unknown>, done: string) => {
    try {
      await act();
      await look();
      say(done);
    } catch (thrown) {
      sayError(thrown);
    }
  };
  const open = (name: string) =>
    iam(`Get${owner.kind}Policy`, { ...of, PolicyName: name }).then(
      (reply) => setEdited({ name, document: documentOf(textAt(reply, 'PolicyDocument')) }),
      sayError,
    );
  const remove = async (name: string) => {
    const yes = await ask({
      title: `Delete the policy ${name}?`,
      body: `What it allows is refused to ${owner.name} from then on.`,
      confirm: 'Delete the policy',
      dangerous: true,
    });
    if (yes)
      await change(
        () => iam(`Delete${owner.kind}Policy`, { ...of, PolicyName: name }),
        `${name} is deleted`,
      );
  };
  const attachable = all.filter((one) => !policies.attached.some((has) => has.arn === one.arn));
  return (
    <section class="card" aria-labelledby="policies-title">
      <header>
        <h2 id="policies-title">Policies</h2>
        <button
          type="button"
          class="small"
          disabled={why !== undefined}
          title={why}
          onClick={() => setEdited({ name: '', document: '' })}
        >
          <Icon name="plus" />
          Write a policy
        </button>
      </header>
      <div class="card-body stack">
        {policies.inline.length + policies.attached.length === 0 && <p class="muted">{none}</p>}
        <ul class="stack tight">
          {policies.inline.map((one) => (
            <li class="rule" key={one}>
              <div>
                <strong>{one}</strong> <span class="muted">its own</span>
              </div>
              <div class="row">
                <button
                  type="button"
                  class="small"
                  aria-label={`Open ${one}`}
                  onClick={() => void open(one)}
                >
                  Open
                </button>
                <button
                  type="button"
                  class="small quiet"
                  disabled={why !== undefined}
                  title={why}
                  aria-label={`Delete the policy ${one}`}
                  onClick={() => void remove(one)}
                >
                  <Icon name="trash" />
                </button>
              </div>
            </li>
          ))}
          {policies.attached.map((one) => (
            <li class="rule" key={one.arn}>
              <div>
                <strong>{one.name}</strong> <span class="muted mono small">{one.arn}</span>
              </div>
              <button
                type="button"
                class="small"
                disabled={why !== undefined}
                title={why}
                aria-label={`Detach ${one.name}`}
                onClick={() =>
                  void change(
                    () => iam(`Detach${owner.kind}Policy`, { ...of, PolicyArn: one.arn }),
                    `${one.name} is detached`,
                  )
                }
              >
                Detach
              </button>
            </li>
          ))}
        </ul>
        <Choose
          label="Attach a policy"
          prompt="Attach a policy…"
          from={attachable}
          why={why}
          onChosen={(chosen) =>
            void change(
              () => iam(`Attach${owner.kind}Policy`, { ...of, PolicyArn: chosen.arn }),
              `${chosen.name} is attached`,
            )
          }
        />
      </div>
      {edited && (
        <PolicyDialog
          owner={owner}
          policy={edited}
          onClose={() => setEdited(null)}
          onSaved={(saved) => {
            setEdited(null);
            say(`${saved} is in force`);
            void look();
          }}
        />
      )}
    </section>
  );
}
