// What the recorded requests say of tables, keys, indexes and cost: worst first, each with the page
// where it is mended.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management, query as queryText } from '../../api/management.ts';
import { lookNow, poll } from '../../app/live.ts';
import { href, route, setQuery } from '../../app/router.ts';
import { stored } from '../../app/settings.ts';
import { has, pulse, tables } from '../../app/state.ts';
import {
  type AdviceReply,
  type Advised,
  advised,
  kLevels,
  knownOf,
  type RecordingState,
  sentencesOf,
} from '../../model/advice.ts';
import { amount, count, duration, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { Looked } from './looked.tsx';
import { Recorder } from './recorder.tsx';

export default function Advice() {
  const [state, setState] = useState<RecordingState | null>(null);
  const [reply, setReply] = useState<AdviceReply | null>(null);
  const [error, setError] = useState<unknown>(null);
  const looked = useRef('');
  const table = route.value.query.get('table');

  const tell = useCallback((failure: unknown) => {
    if (!isStopped(failure)) setError(failure);
  }, []);
  useEffect(
    () =>
      poll(
        async (signal) => {
          try {
            const now = await management<RecordingState>('recording', { signal, background: true });
            const kept = `${now.since} ${now.requests} ${now.dropped}`;
            setState(now);
            // Advice on what was looked at already is the same.
            if (looked.current === kept) return;
            looked.current = kept;
            const prices = stored<Record<string, number>>('prices', {});
            setReply(
              await management<AdviceReply>(`advice${queryText(prices)}`, {
                signal,
                background: true,
              }),
            );
            setError(null);
          } catch (failure) {
            looked.current = '';
            tell(failure);
            throw failure;
          }
        },
        () => 5000,
      ),
    [],
  );
  if (!state || !reply)
    return error !== null ? <ErrorBox error={error} /> : <p class="loading">Asking the server…</p>;
  // Nothing can be mended of a table that was deleted meanwhile.
  const isThere = (name: string) => pulse.value === null || tables.value.has(name);
  const all = advised(reply, table);
  const found = all.filter((one) => isThere(one.table));
  const gone = [...new Set(all.map((one) => one.table))].filter((name) => !isThere(name));
  const names = reply.report.tables.map((one) => one.name).filter(isThere);
  const nothing = reply.of === 0;
  return (
    <>
      <header class="page-head">
        <h1>Advice</h1>
        <span class="muted">{nothing ? 'on what was recorded' : spanWords(reply)}</span>
        <div class="row">
          {names.length > 1 && (
            <select
              aria-label="Table"
              value={table ?? ''}
              onChange={(event) => setQuery({ table: event.currentTarget.value || undefined })}
            >
              <option value="">All tables</option>
              {names.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </div>
      </header>
      {error !== null && <ErrorBox error={error} />}
      <Recorder
        state={state}
        onChanged={(changed) => {
          setState(changed);
          lookNow();
        }}
      />
      {nothing ? (
        <div class="empty">
          <h2>{state.on ? 'Waiting for requests' : 'Nothing was recorded'}</h2>
          <p class="muted">
            While a recording runs, the server keeps what each request did: its keys, the items it
            read, the units it took. This page then says which keys are too hot, what reads more
            than it needs, which index nothing reads, and what another capacity would save.
          </p>
          <p class="muted">
            Throttled requests need no recording: Throttling of{' '}
            <a href={href(['tables'])}>their table</a> has the reason and cures.
          </p>
        </div>
      ) : (
        <>
          {kLevels.map(({ level, name }) => {
            const some = found.filter((one) => one.level === level);
            return some.length === 0 ? null : (
              <section key={level} class="stack tight" aria-labelledby={`level-${level}`}>
                <h2 id={`level-${level}`}>
                  {name} <span class="muted num">{some.length}</span>
                </h2>
                {some.map((one) => (
                  <Finding
                    key={`${one.table} ${one.index} ${one.id} ${one.text}`}
                    finding={one}
                    reply={reply}
                  />
                ))}
              </section>
            );
          })}
          {gone.length > 0 && (
            <p class="note">
              Left out: what was recorded of {gone.length === 1 ? 'a table' : 'tables'} that{' '}
              {gone.length === 1 ? 'is' : 'are'} deleted: {gone.join(', ')}.
            </p>
          )}
          {found.length === 0 && (
            <div class="empty">
              <h2>Nothing to advise</h2>
              <p class="muted">
                {plural(reply.looked, 'request')} show no hot key, no waste and no capacity to save.
                Less than 20 requests of a kind are not judged.
              </p>
            </div>
          )}
          <Looked reply={reply} table={table} isThere={isThere} />
        </>
      )}
    </>
  );
}

const spanWords = (reply: AdviceReply): string => {
  const { start_micros, end_micros } = reply.report.recording;
  const seconds = Math.max(1, (end_micros - start_micros) / 1e6);
  const looked =
    reply.looked === reply.of
      ? plural(reply.of, 'request')
      : `${count(reply.looked)} of ${plural(reply.of, 'request')}`;
  return `on ${looked} in ${duration(seconds)}`;
};

function Finding({ finding, reply }: { finding: Advised; reply: AdviceReply }) {
  const { title, tab, design } = knownOf(finding.id);
  const [seen, cure] = sentencesOf(finding.text);
  const { start_micros, end_micros } = reply.report.recording;
  const window = {
    from: String(Math.floor(start_micros / 1e6)),
    to: String(Math.ceil(end_micros / 1e6) + 1),
  };
  return (
    <article
      class={`card card-body finding ${finding.level}`}
      aria-label={`${title}: ${finding.table}${finding.index ? ` · ${finding.index}` : ''}`}
    >
      <header class="row">
        <h3>{title}</h3>
        <a href={href(['tables', finding.table, 'items'])}>
          {finding.table}
          {finding.index && ` · ${finding.index}`}
        </a>
        {finding.saves_month !== undefined && finding.saves_month >= 0.01 && (
          <span class="badge good">saves ${amount(finding.saves_month)} a month</span>
        )}
      </header>
      <p class="why">{seen}</p>
      {cure !== '' && <p class="advice-cure">{cure}</p>}
      <div class="row">
        {design && has('simulate') && (
          <a class="button small primary" href={href(['design'], { of: finding.table, ...window })}>
            <Icon name="play" />
            Simulate a cure
          </a>
        )}
        <a
          class="button small"
          href={href(
            ['tables', finding.table, tab],
            tab === 'heat' ? { ...window, index: finding.index } : {},
          )}
        >
          {kTabWords[tab]}
        </a>
      </div>
    </article>
  );
}

const kTabWords = {
  heat: 'Show the heat',
  throttling: 'Show what was throttled',
  capacity: 'Show capacity and cost',
  indexes: 'Show the indexes',
  items: 'Show the items',
} as const;
