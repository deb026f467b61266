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
