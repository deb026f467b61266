// A box that scrolls by itself, so the keyboard has to reach it.
import type { ComponentChildren } from 'preact';

interface Props {
  label: string;
  class?: string;
  children: ComponentChildren;
}

export function Scroll({ label, class: className = 'scroll-x', children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it.
    <div class={className} tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}
