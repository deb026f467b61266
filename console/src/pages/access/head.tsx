// The head of a page about one user, group or role.
import type { ComponentChildren } from 'preact';
import { href } from '../../app/router.ts';
import { Icon } from '../../ui/icons.tsx';

export function Head({ name, children }: { name: string; children?: ComponentChildren }) {
  return (
    <header class="page-head">
      <div>
        <a class="small" href={href(['access'])}>
          Access
        </a>
        <h1>{name}</h1>
      </div>
      {children}
    </header>
  );
}

// The button of a head that asks before it deletes. `why`: why it may not.
export function Delete({
  what,
  why,
  onClick,
}: {
  what: string;
  why?: string;
  onClick: () => void;
}) {
  return (
    <div class="row">
      <button
        type="button"
        class="danger-text"
        disabled={why !== undefined}
        title={why}
        onClick={onClick}
      >
        <Icon name="trash" />
        Delete the {what}…
      </button>
    </div>
  );
}
