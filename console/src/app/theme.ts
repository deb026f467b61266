// Light, dark, or as the system says.
import { signal } from '@preact/signals';
import { store, stored } from './settings.ts';

export type Theme = 'system' | 'light' | 'dark';
export const kThemes: readonly Theme[] = ['system', 'light', 'dark'];

export const theme = signal<Theme>(stored<Theme>('theme', 'system'));

// Counted up whenever colours change, for what is drawn on a canvas.
export const painted = signal(0);

export function startTheme(): void {
  theme.subscribe((chosen) => {
    const root = document.documentElement;
    if (chosen === 'system') delete root.dataset.theme;
    else root.dataset.theme = chosen;
    store('theme', chosen);
    ++painted.value;
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => ++painted.value);
}

// The value of a custom property as it is now.
export const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();
