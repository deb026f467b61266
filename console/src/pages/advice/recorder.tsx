// Begins and ends the recording of requests, and says how it stands.
import { useEffect, useRef, useState } from 'preact/hooks';
import { management } from '../../api/management.ts';
import { boot } from '../../app/state.ts';
import type { RecordingState } from '../../model/advice.ts';
import { Choice } from '../../ui/field.tsx';
import { bytes, count, duration, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { say, sayError } from '../../ui/told.tsx';

const kMinutes = ['10', '60', '360', '1440'] as const;
const kWords = { '10': '10 min', '60': '1 h', '360': '6 h', '1440': '24 h' } as const;

export interface RecorderProps {
  state: RecordingState;
  onChanged: (state: RecordingState) => void;
}

export function Recorder({ state, onChanged }: RecorderProps) {
  const [minutes, setMinutes] = useState<(typeof kMinutes)[number]>('60');
  const section = useRef<HTMLElement>(null);
  const busy = useRef(false);
  const pressed = useRef(false);
  // The button that took the place of the pressed one gets the focus.
  useEffect(() => {
    if (pressed.current) section.current?.querySelector<HTMLElement>('button')?.focus();
    pressed.current = false;
  }, [state.on]);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const change = async (method: 'PUT' | 'DELETE') => {
    if (busy.current) return;
    busy.current = true;
    try {
      const next = await management<RecordingState>('recording', {
        method,
        ...(method === 'PUT' ? { body: { minutes: Number(minutes) } } : {}),
      });
      pressed.current = true;
      onChanged(next);
      say(method === 'PUT' ? 'Requests are recorded' : 'The recording ended; its advice stays');
    } catch (error) {
      sayError(error);
    } finally {
      busy.current = false;
    }
  };
  const kept =
    `${plural(state.requests, 'request')}, ${bytes(state.bytes)} of ${bytes(state.mostBytes)}` +
    (state.dropped > 0 ? `; the oldest ${count(state.dropped)} had to go` : '');
  return (
    <section ref={section} class="card card-body recorder" aria-label="Recording">
      {state.on ? (
        <>
          <p>
            <span class="badge bad">
              <span class="recording-dot" aria-hidden="true" />
              recording
            </span>{' '}
            {kept}. <span class="muted">It ends in {duration(state.secondsLeft)}.</span>
          </p>
          <button
            type="button"
            disabled={why !== undefined}
            title={why}
            onClick={() => void change('DELETE')}
          >
            <Icon name="stop" />
            Stop
          </button>
        </>
      ) : (
        <>
          <p class="muted">
            {state.since === null
              ? 'Requests are kept in the memory of this server, with their keys, 32 MB at most.'
              : `The recording is over: ${kept}.`}
          </p>
          <div class="row">
            <Choice<(typeof kMinutes)[number]>
              legend="Record for"
              hideLegend
              value={minutes}
              options={kMinutes.map((value) => ({ value, label: kWords[value] }))}
              onChange={setMinutes}
            />
            <button
              type="button"
              class="primary"
              disabled={why !== undefined}
              title={why}
              onClick={() => void change('PUT')}
            >
              <Icon name="play" />
              {state.since === null ? 'Record' : 'Record anew'}
            </button>
          </div>
        </>
      )}
    </section>
  );
}
