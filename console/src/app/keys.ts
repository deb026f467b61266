// Keyboard. Single letters work where no text is being typed, and can be switched off.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { stored } from './settings.ts';

export const singleKeys = signal(stored('single-keys', true));

export interface KeyHelp {
  keys: string;
  what: string;
}

interface Layer {
  bindings: Record<string, () => void>;
  help: Record<string, string>;
}

// The last one that has a key gets it.
const layers: { current: Layer }[] = [];

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement &&
      !['checkbox', 'radio', 'button'].includes(target.type)) ||
    // Editors live in a shadow root: the event comes from their host.
    target.hasAttribute('data-editor'));

// `ctrl+enter`, `?`, `g t`.
function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key.toLowerCase();
  const control = event.ctrlKey || event.metaKey ? 'ctrl+' : '';
  const alt = event.altKey ? 'alt+' : '';
  return control + alt + key;
}

let prefix = '';
let prefixTimer: ReturnType<typeof setTimeout> | undefined;

function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey && event.key.length === 1;
  if (plain && (isTyping(event.target) || !singleKeys.peek())) return;
  // A dialog has the keyboard for itself: it takes Escape, and no letter is a command below it.
  const name = prefix + nameOf(event);
  prefix = '';
  clearTimeout(prefixTimer);
  const inDialog = document.querySelector('dialog[open]') !== null;
  for (const layer of [...layers].reverse()) {
    const action = layer.current.bindings[name];
    if (!action) continue;
    if (inDialog && (plain || event.key === 'Escape')) continue;
    event.preventDefault();
    action();
    return;
  }
  if (name === 'g' && !inDialog) {
    prefix = 'g ';
    prefixTimer = setTimeout(() => {
      prefix = '';
    }, 1200);
  }
}

export function startKeys(): void {
  addEventListener('keydown', handle);
}

// Binds keys while the component is there. `help` says what they do, for the list behind `?`.
export function useKeys(
  bindings: Record<string, () => void>,
  help: Record<string, string> = {},
): void {
  const layer = useRef<Layer>({ bindings, help });
  layer.current = { bindings, help };
  useEffect(() => {
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

// What the keys do now.
export function keyHelp(): KeyHelp[] {
  const found = new Map<string, string>();
  for (const layer of layers)
    for (const [keys, what] of Object.entries(layer.current.help)) found.set(keys, what);
  return [...found].map(([keys, what]) => ({ keys, what }));
}
