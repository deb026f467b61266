// A request as code, in the language that the user chose last.

import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { kBase } from '../api/http.ts';
import { store, stored } from '../app/settings.ts';
import { boot } from '../app/state.ts';
import type { Language, Request } from '../model/code/request.ts';
import type { ManagementRequest } from '../model/code/shell.ts';
import { CopyButton } from './copy.tsx';

const language = signal<Language>(stored<Language>('language', 'js'));
const withEndpoint = signal(stored('code-endpoint', true));

export type CodeOf =
  | { request: Request; sort?: string | undefined }
  | { management: ManagementRequest };

type Writers = typeof import('../model/code/index.ts');

export function Code({ of }: { of: CodeOf }) {
  const [writers, setWriters] = useState<Writers | null>(null);
  useEffect(() => {
    void import('../model/code/index.ts').then(setWriters);
  }, []);
  if (!writers) return <p class="loading">Loading…</p>;
  const endpoint = kBase.replace(/\/$/, '');
  if ('management' in of)
    return <CodeText text={writers.managementCurl(of.management, endpoint)} label="curl" />;
  const where = {
    endpoint: withEndpoint.value ? endpoint : null,
    region: boot.value?.region ?? 'us-east-1',
  };
  const possible = writers.kLanguages.filter(
    (one) => writers.codeFor(one.id, of.request, where, of.sort) !== null,
  );
  const chosen = possible.find((one) => one.id === language.value) ?? possible[0];
  if (!chosen) return null;
  const text = writers.codeFor(chosen.id, of.request, where, of.sort) ?? '';
  return (
    <div class="code">
      <div class="code-head">
        <select
          aria-label="Language"
          value={chosen.id}
          onChange={(event) => {
            language.value = event.currentTarget.value as Language;
            store('language', language.peek());
          }}
        >
          {possible.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
        <label class="check small">
          <input
            type="checkbox"
            checked={withEndpoint.value}
            onChange={(event) => {
              withEndpoint.value = event.currentTarget.checked;
              store('code-endpoint', withEndpoint.peek());
            }}
          />
          for this server
        </label>
        <CopyButton text={() => text} label="Copy the code" />
      </div>
      <CodeText text={text} label={chosen.name} bare />
    </div>
  );
}

export function CodeText({ text, label, bare }: { text: string; label: string; bare?: boolean }) {
  return (
    <div class={bare ? '' : 'code'}>
      {!bare && (
        <div class="code-head">
          <span class="muted small">{label}</span>
          <CopyButton text={() => text} />
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it. */}
      <pre tabIndex={0} role="region" aria-label={`Code: ${label}`}>
        <code>{text}</code>
      </pre>
    </div>
  );
}
