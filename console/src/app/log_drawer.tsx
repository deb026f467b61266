// The calls that this page made, with what came of them and the same as code.
import { useState } from 'preact/hooks';
import { type Call, log } from '../api/log.ts';
import { Code } from '../ui/code.tsx';
import { amount, clock, milliseconds, plural } from '../ui/format.ts';
import { Icon } from '../ui/icons.tsx';
import { ErrorBox } from '../ui/told.tsx';
import { useKeys } from './keys.ts';

export default function LogDrawer({ onClose }: { onClose: () => void }) {
  const [onlyFailures, setOnlyFailures] = useState(false);
  const [open, setOpen] = useState<number | null>(null);
  useKeys({ escape: onClose });
  const calls = log.calls.value.filter((call) => !onlyFailures || call.error);
  return (
    <aside class="drawer" aria-label="Log of calls">
      <header>
        <h2>Calls of this page</h2>
        <label class="check small">
          <input
            type="checkbox"
            checked={onlyFailures}
            onChange={(event) => setOnlyFailures(event.currentTarget.checked)}
          />
          Failures only
        </label>
        <button type="button" class="quiet small" onClick={() => log.clear()}>
          Clear
        </button>
        <button type="button" class="quiet square" aria-label="Close the log" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {calls.length === 0 && (
        <p class="muted pad">{onlyFailures ? 'No call failed.' : 'Nothing was asked for yet.'}</p>
      )}
      <ol class="calls">
        {calls.slice(0, 100).map((call) => (
          <li key={call.id}>
            <button
              type="button"
              class="call"
              aria-expanded={open === call.id}
              onClick={() => setOpen(open === call.id ? null : call.id)}
            >
              <span class={call.error ? 'bad-text' : 'good-text'}>
                <Icon name={call.error ? 'warn' : 'check'} />
              </span>
              <span class="call-what">
                {call.what}
                {call.table && <span class="muted"> {call.table}</span>}
              </span>
              <span class="muted num">{unitsText(call)}</span>
              <span class="muted num">{milliseconds(call.ms)}</span>
              <span class="muted num">{clock(call.at.getTime())}</span>
            </button>
            {open === call.id && <CallDetails call={call} />}
          </li>
        ))}
      </ol>
      <p class="muted small pad">
        And {plural(log.backgroundCalls.value, 'call')} by which the page follows the server.
      </p>
    </aside>
  );
}

function unitsText(call: Call): string {
  const parts = [];
  if (call.readUnits > 0) parts.push(`${amount(call.readUnits)} RCU`);
  if (call.writeUnits > 0) parts.push(`${amount(call.writeUnits)} WCU`);
  return parts.join(' ');
}

function CallDetails({ call }: { call: Call }) {
  return (
    <div class="call-details">
      {call.error && <ErrorBox error={call.error} />}
      {call.requestId && <p class="muted small mono cut">{call.requestId}</p>}
      {call.input && <Code of={call.input} />}
    </div>
  );
}
