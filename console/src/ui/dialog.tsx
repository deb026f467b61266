// Native dialogs: they keep the focus inside, close with Escape, and give the focus back.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
  // Buttons at the end.
  footer?: ComponentChildren;
}

const firstOf = (dialog: HTMLElement): HTMLElement | null | undefined =>
  [
    ...dialog.querySelectorAll<HTMLElement>(
      '.dialog-body :is(input, select, textarea):not(:disabled)',
    ),
  ].find((one) => !one.closest('.code, details')) ??
  dialog.querySelector<HTMLElement>('footer button:not(.danger):not(:disabled)');

export function Dialog({ title, onClose, children, wide, footer }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // The browser chose the button that closes: the first field is meant, else the safe button.
      if (!dialog.querySelector('[autofocus]')) firstOf(dialog)?.focus();
    }
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes; the click is for the backdrop.
    <dialog
      ref={ref}
      class={wide ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      // The browser closes it by itself when Escape is pressed twice.
      onClose={onClose}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div class="dialog-box">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="quiet square" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        <div class="dialog-body">{children}</div>
        {footer && <footer>{footer}</footer>}
      </div>
    </dialog>
  );
}

export interface Question {
  title: string;
  body?: ComponentChildren;
  confirm: string;
  dangerous?: boolean;
  // A text that has to be typed before the button works.
  typed?: string | undefined;
}

interface Asked extends Question {
  answer: (yes: boolean) => void;
}

const asked = signal<Asked | null>(null);

// Asks; resolves to whether the user confirmed.
export function ask(question: Question): Promise<boolean> {
  asked.peek()?.answer(false);
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (yes) => {
        asked.value = null;
        resolve(yes);
      },
    };
  });
}

// Stands once in the frame.
export function Questions() {
  const question = asked.value;
  return question ? <QuestionDialog key={question.title} question={question} /> : null;
}

function QuestionDialog({ question }: { question: Asked }) {
  const [typed, setTyped] = useState('');
  const id = useId();
  const ready = question.typed === undefined || typed === question.typed;
  return (
    <Dialog
      title={question.title}
      onClose={() => question.answer(false)}
      footer={
        <>
          <button type="button" onClick={() => question.answer(false)}>
            Cancel
          </button>
          <button
            type="button"
            class={question.dangerous ? 'danger' : 'primary'}
            disabled={!ready}
            onClick={() => question.answer(true)}
          >
            {question.confirm}
          </button>
        </>
      }
    >
      {question.body}
      {question.typed !== undefined && (
        <div class="field">
          <label for={id}>
            Type <code>{question.typed}</code> to confirm
          </label>
          <input
            id={id}
            value={typed}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && ready) question.answer(true);
            }}
          />
        </div>
      )}
    </Dialog>
  );
}
