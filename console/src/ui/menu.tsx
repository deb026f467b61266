// A button with a menu: arrows move, Enter chooses, Escape closes and gives the focus back.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icons.tsx';

export interface MenuItem {
  label: string;
  icon?: IconName;
  danger?: boolean;
  // Why it cannot be chosen now.
  disabled?: string | undefined;
  run: () => void;
}

export interface MenuProps {
  label: string;
  items: (MenuItem | null)[]; // null: a line
  children?: ComponentChildren;
  class?: string;
}

export function Menu({ label, items, children, class: className = 'quiet square' }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  useEffect(() => {
    const element = menu.current;
    if (!element) return;
    const onToggle = (event: Event) => setOpen((event as ToggleEvent).newState === 'open');
    element.addEventListener('toggle', onToggle);
    return () => element.removeEventListener('toggle', onToggle);
  }, []);

  useEffect(() => {
    const element = menu.current;
    const anchor = button.current;
    if (!open || !element || !anchor) return;
    place(element, anchor);
    entries(element)[0]?.focus();
  }, [open]);

  const onKeyDown = (event: KeyboardEvent) => {
    const element = menu.current;
    if (!element) return;
    const all = entries(element);
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to =
      event.key === 'ArrowDown'
        ? (at + 1) % all.length
        : event.key === 'ArrowUp'
          ? (at - 1 + all.length) % all.length
          : event.key === 'Home'
            ? 0
            : event.key === 'End'
              ? all.length - 1
              : -1;
    if (to >= 0) {
      event.preventDefault();
      all[to]?.focus();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      element.hidePopover();
      button.current?.focus();
    } else if (event.key === 'Tab') element.hidePopover();
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        class={className}
        aria-label={children ? undefined : label}
        aria-haspopup="menu"
        aria-expanded={open}
        popovertarget={id}
      >
        {children ?? <Icon name="more" />}
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        role="menu"
        class="menu"
        aria-label={label}
        onKeyDown={onKeyDown}
      >
        {open &&
          items.map((item, i) =>
            item === null ? (
              <hr key={`line${i}`} />
            ) : (
              <button
                key={item.label}
                type="button"
                role="menuitem"
                tabIndex={-1}
                class={item.danger ? 'danger-text' : ''}
                aria-disabled={item.disabled !== undefined}
                title={item.disabled}
                onClick={() => {
                  if (item.disabled !== undefined) return;
                  menu.current?.hidePopover();
                  button.current?.focus();
                  item.run();
                }}
              >
                {item.icon && <Icon name={item.icon} />}
                {item.label}
              </button>
            ),
          )}
      </div>
    </>
  );
}

const entries = (menu: HTMLElement): HTMLElement[] => [
  ...menu.querySelectorAll<HTMLElement>('[role=menuitem],[role=menuitemcheckbox]'),
];

// Below the anchor, or above where there is no room; inside the window.
export function place(element: HTMLElement, anchor: HTMLElement): void {
  const at = anchor.getBoundingClientRect();
  const size = element.getBoundingClientRect();
  const gap = 4;
  const below = at.bottom + gap + size.height <= innerHeight || at.top < size.height;
  const top = below ? at.bottom + gap : at.top - gap - size.height;
  const left = Math.max(8, Math.min(at.right - size.width, innerWidth - size.width - 8));
  element.style.top = `${Math.max(8, top)}px`;
  element.style.left = `${at.left + size.width + 8 < innerWidth ? at.left : left}px`;
}
