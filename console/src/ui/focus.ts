// Where the focus goes when what had it is gone.

const isLost = (): boolean =>
  document.activeElement === null || document.activeElement === document.body;

// After the next drawing: if the focus fell out of the page, it goes to what `to` finds.
export function focusIfLost(to: () => HTMLElement | null | undefined): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (isLost()) to()?.focus();
    }),
  );
}

// After the next drawing: the focus goes to what `to` finds, which is drawn only then.
export function focusSoon(to: () => HTMLElement | null | undefined): void {
  requestAnimationFrame(() => requestAnimationFrame(() => to()?.focus()));
}

export const focusPage = (): void =>
  document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });

// As a `ref`: what appears takes the focus.
export const takesFocus = (element: HTMLElement | null): void => element?.focus();

// How long a page has to put the focus where it belongs.
const kOwnMs = 150;
// Elements that stay around one that goes.
const kAround = 'section, form, details, .card, main';

// From now on an element around the focused one gets the focus when that one leaves the page and the
// page focuses no other, so that the next Tab goes on from there.
export function keepFocus(root: HTMLElement): void {
  let around: HTMLElement[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener('focusin', ({ target }) => {
    around = [];
    for (let at = target as HTMLElement | null; at && at !== root; at = at.parentElement)
      around.push(at);
  });
  new MutationObserver(() => {
    if (around[0]?.isConnected !== false || !isLost()) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const next =
        around.find((one) => one.isConnected && one.matches(kAround)) ??
        root.querySelector<HTMLElement>('main');
      if (!isLost() || !next) return;
      if (next.tabIndex < 0) next.tabIndex = -1;
      next.focus({ preventScroll: true });
    }, kOwnMs);
  }).observe(root, { childList: true, subtree: true });
}
