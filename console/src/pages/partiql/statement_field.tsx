// The field of a statement, which offers what may follow: arrows choose, Tab or Enter take, Escape
// closes, Ctrl Space opens.
import type { RefObject } from 'preact';
import { useId, useState } from 'preact/hooks';
import { type Completion, completed, completionAt, type KnownTable } from '../../model/complete.ts';
import { speak } from '../../ui/told.tsx';

const kKinds = {
  table: 'table',
  index: 'index',
  key: 'key',
  attribute: '',
  function: 'function',
  word: '',
} as const;

export interface StatementFieldProps {
  area: RefObject<HTMLTextAreaElement | null>;
  text: string;
  tables: readonly KnownTable[];
  onInput: (text: string) => void;
}

export function StatementField({ area, text, tables, onInput }: StatementFieldProps) {
  const id = useId();
  const [offer, setOffer] = useState<Completion | null>(null);
  const [at, setAt] = useState(0);
  const look = (element: HTMLTextAreaElement) => {
    const found =
      element.selectionStart === element.selectionEnd
        ? completionAt(element.value, element.selectionStart, tables)
        : null;
    setOffer(found);
    setAt(0);
    if (found) speak(`${found.options.length} to choose from: ${found.options[0]?.text}`);
  };
  const take = (i: number) => {
    const element = area.current;
    const option = offer?.options[i];
    if (!element || !offer || !option) return;
    const result = completed(element.value, offer, option);
    // By the browser's own editing, so that Ctrl Z takes it back.
    element.focus();
    element.setSelectionRange(0, element.value.length);
    document.execCommand('insertText', false, result.text);
    if (element.value !== result.text) element.value = result.text;
    element.setSelectionRange(result.caret, result.caret);
    onInput(result.text);
    setOffer(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === ' ' && event.ctrlKey) {
      look(event.currentTarget as HTMLTextAreaElement);
      event.preventDefault();
      return;
    }
    if (!offer || event.ctrlKey || event.metaKey) return;
    const last = offer.options.length - 1;
    if (event.key === 'ArrowDown') setAt(at === last ? 0 : at + 1);
    else if (event.key === 'ArrowUp') setAt(at === 0 ? last : at - 1);
    else if ((event.key === 'Tab' && !event.shiftKey) || event.key === 'Enter') take(at);
    else if (event.key === 'Escape') setOffer(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const place = offer && area.current ? placeOf(area.current, offer.from) : null;
  return (
    <div class="statement-field">
      <textarea
        ref={area}
        class="mono"
        aria-label="PartiQL statement"
        aria-autocomplete="list"
        aria-controls={offer ? id : undefined}
        aria-activedescendant={offer ? `${id}-${at}` : undefined}
        placeholder={`SELECT * FROM "music" WHERE artist = 'Nina Simone'`}
        rows={Math.min(16, Math.max(4, text.split('\n').length + 1))}
        spellcheck={false}
        autocapitalize="off"
        value={text}
        onInput={(event) => {
          onInput(event.currentTarget.value);
          look(event.currentTarget);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setOffer(null)}
        onClick={() => setOffer(null)}
      />
      {offer && place && (
        <ul
          id={id}
          class="offer"
          role="listbox"
          aria-label="What may follow"
          style={{ left: `${place.x}px`, top: `${place.y}px` }}
        >
          {offer.options.map((one, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the field's.
            <li
              key={one.text}
              id={`${id}-${i}`}
              role="option"
              aria-selected={i === at}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(i)}
            >
              <code>{one.text}</code>
              <span class="muted small">{kKinds[one.kind]}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

// Where a character stands, seen from the field. Its font has one width.
function placeOf(element: HTMLTextAreaElement, index: number): { x: number; y: number } {
  const style = getComputedStyle(element);
  const before = element.value.slice(0, index).split('\n');
  const context = document.createElement('canvas').getContext('2d');
  if (context) context.font = style.font;
  const width = context?.measureText(before.at(-1) ?? '').width ?? 0;
  const line = Number.parseFloat(style.lineHeight) || 18;
  return {
    x: Math.min(
      Number.parseFloat(style.paddingLeft) + width,
      Math.max(0, element.clientWidth - 240),
    ),
    y: Number.parseFloat(style.paddingTop) + before.length * line - element.scrollTop + 4,
  };
}
