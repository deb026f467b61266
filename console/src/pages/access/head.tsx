// The head of a page about one user, group or role.
import type { ComponentChildren } from 'preact';
import { href } from '../../app/router.ts';

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
