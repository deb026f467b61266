// What the page tells: errors where they belong, and short news at the edge.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { tell } from '../api/errors.ts';
import { CopyButton } from './copy.tsx';
import { Icon } from './icons.tsx';

export function ErrorBox({ error, children }: { error: unknown; children?: ComponentChildren }) {
  const told = tell(error);
  return (
    <div class="error-box" role="alert">
      <p>
        <Icon name="warn" />
        <strong>{told.title}</strong>
      </p>
      <p>{told.message}</p>
      {told.explanation && (
        <p class="explanation">
          <span class="muted">Why: </span>
          {told.explanation}
        </p>
      )}
      <div class="row">
        {children}
        <CopyButton
          text={() =>
            [told.title, told.message, told.explanation, told.requestId].filter(Boolean).join('\n')
          }
          label="Copy the error"
        />
        {told.requestId && <span class="muted small mono cut">{told.requestId}</span>}
      </div>
    </div>
  );
}

interface News {
  id: number;
  text: string;
  kind: 'good' | 'bad' | 'plain';
  action?: { label: string; run: () => void } | undefined;
}

const news = signal<readonly News[]>([]);
let nextId = 1;

// Says it for some seconds, and to screen readers. What matters longer is in the log of calls.
export function say(text: string, kind: News['kind'] = 'good', action?: News['action']): void {
  const id = nextId++;
  news.value = [...news.value.slice(-3), { id, text, kind, action }];
  setTimeout(() => dismiss(id), action ? 60_000 : kind === 'bad' ? 10_000 : 5000);
}

export const sayError = (error: unknown): void => {
  const told = tell(error);
  say(`${told.title}: ${told.message}`, 'bad');
};

const dismiss = (id: number): void => {
  news.value = news.value.filter((one) => one.id !== id);
};

// Stands once in the frame.
export function NewsBar() {
  return (
    <div class="news" role="status" aria-live="polite">
      {news.value.map((one) => (
        <div key={one.id} class={`news-item ${one.kind}`}>
          <Icon name={one.kind === 'bad' ? 'warn' : 'check'} />
          <span>{one.text}</span>
          {one.action && (
            <button
              type="button"
              class="link"
              onClick={() => {
                dismiss(one.id);
                one.action?.run();
              }}
            >
              {one.action.label}
            </button>
          )}
          <button
            type="button"
            class="quiet square"
            aria-label="Dismiss"
            onClick={() => dismiss(one.id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

// What screen readers are told without anything being shown; at most every five seconds.
const spoken = signal('');
let spokenAt = 0;
let waiting: ReturnType<typeof setTimeout> | undefined;
export function speak(text: string): void {
  clearTimeout(waiting);
  const wait = Math.max(0, spokenAt + 5000 - performance.now());
  waiting = setTimeout(() => {
    spokenAt = performance.now();
    spoken.value = text;
  }, wait);
}

export function Spoken() {
  return (
    <div class="visually-hidden" aria-live="polite">
      {spoken.value}
    </div>
  );
}
