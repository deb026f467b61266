// What the server does right now: request by request, or those alike together. The server keeps
// requests only while this page asks for them.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management } from '../../api/management.ts';
import { useKeys } from '../../app/keys.ts';
import { poll } from '../../app/live.ts';
import { href, route, setQuery } from '../../app/router.ts';
import {
  isWasteful,
  matches,
  plainKey,
  type Shape,
  shapes,
  type Told,
} from '../../model/requests.ts';
import { Choice } from '../../ui/field.tsx';
import { amount, bytes, clock, count, milliseconds, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox } from '../../ui/told.tsx';

// Kept by the page; the oldest go.
const kKept = 5000;
const kShown = 200;

interface Reply {
  seq: number;
  skipped: number;
  requests: Told[];
}

type View = 'each' | 'alike';

export default function Requests() {
  const [kept, setKept] = useState<readonly Told[]>([]);
  const [frozen, setFrozen] = useState<readonly Told[] | null>(null);
  const [skipped, setSkipped] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const [open, setOpen] = useState<number | null>(null);
  const filter = useRef<HTMLInputElement>(null);
  const query = route.value.query;
  const text = query.get('q') ?? '';
  const view: View = query.get('view') === 'alike' ? 'alike' : 'each';

  useEffect(() => {
    let seq = 0;
    let skippedBefore: number | null = null;
    return poll(
      async (signal) => {
        try {
          const reply = await management<Reply>(`requests?since=${seq}&limit=1000`, {
            signal,
            background: true,
          });
          // A server that began again counts from the start.
          if (reply.seq < seq) setKept([]);
          seq = reply.seq;
          skippedBefore ??= reply.skipped;
          setSkipped(Math.max(0, reply.skipped - skippedBefore));
          if (reply.requests.length > 0)
            setKept((before) => [...before, ...reply.requests].slice(-kKept));
          setError(null);
        } catch (failure) {
          if (!isStopped(failure)) setError(failure);
          throw failure;
        }
      },
      () => 1000,
    );
  }, []);
  const toggle = () => setFrozen(frozen ? null : kept);
  useKeys(
    { '/': () => filter.current?.focus(), p: toggle, escape: () => setOpen(null) },
    { '/': 'Filter', p: 'Hold the list still, or go on' },
  );

  const shown = frozen ?? kept;
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return shown.filter((one) => matches(one, words));
  }, [shown, text]);
  return (
    <>
      <header class="page-head">
        <h1>Requests</h1>
        <span class="muted" aria-live="polite">
          {frozen ? 'held still' : 'as they come'}
        </span>
        <div class="row">
          <input
            ref={filter}
            type="search"
            aria-label="Filter requests"
            placeholder="Operation, table, key…"
            value={text}
            onInput={(event) => setQuery({ q: event.currentTarget.value || undefined })}
          />
          <button type="button" aria-pressed={frozen !== null} onClick={toggle}>
            <Icon name={frozen ? 'play' : 'pause'} />
            {frozen ? 'Go on' : 'Hold'}
          </button>
        </div>
      </header>
      {error !== null && <ErrorBox error={error} />}
      <div class="row">
        <Choice<View>
          legend="View of the requests"
          hideLegend
          value={view}
          options={[
            { value: 'each', label: 'One by one' },
            { value: 'alike', label: 'Alike together' },
          ]}
          onChange={(chosen) => setQuery({ view: chosen === 'each' ? undefined : chosen })}
        />
        <span class="muted">
          {found.length === shown.length
            ? plural(shown.length, 'request')
            : `${count(found.length)} of ${plural(shown.length, 'request')}`}
          {skipped > 0 && `, ${count(skipped)} more came too fast to be shown`}
        </span>
        <span class="grow" />
        <button
          type="button"
          class="quiet"
          disabled={shown.length === 0}
          onClick={() => {
            setKept([]);
            setFrozen(null);
          }}
        >
          Clear
        </button>
      </div>
      {shown.length === 0 ? (
        <div class="empty">
          <h2>Waiting for requests</h2>
          <p class="muted">
            Requests on items appear here within a second, those of this console too. Nothing is
            kept before this page is open or after it is left.
          </p>
        </div>
      ) : found.length === 0 ? (
        <div class="empty">
          <h2>No request matches</h2>
        </div>
      ) : view === 'each' ? (
        <Each requests={found} open={open} onOpen={setOpen} />
      ) : (
        <Alike shapes={shapes(found)} />
      )}
    </>
  );
}

const unitsText = (one: { read: number; write: number }): string =>
  [one.read > 0 && `${amount(one.read)} R`, one.write > 0 && `${amount(one.write)} W`]
    .filter(Boolean)
    .join(' ') || '0';

const itemsText = (one: Told): string => {
  if (one.scanned === null || one.returned === null) return '';
  return one.scanned === one.returned
    ? count(one.returned)
    : `${count(one.returned)} of ${count(one.scanned)}`;
};

interface EachProps {
  requests: readonly Told[];
  open: number | null;
  onOpen: (seq: number | null) => void;
}

function Each({ requests, open, onOpen }: EachProps) {
  const rows = requests.slice(-kShown).reverse();
  return (
    <div class="scroll-x card">
      <table class="plain requests" aria-label="Requests, newest first">
        <thead>
          <tr>
            <th scope="col" class="num">
              Time
            </th>
            <th scope="col">Operation</th>
            <th scope="col">Table</th>
            <th scope="col">Key</th>
            <th scope="col" class="num">
              Items
            </th>
            <th scope="col" class="num">
              Units
            </th>
            <th scope="col" class="num">
              Took
            </th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <Row
              key={one.seq}
              one={one}
              open={open === one.seq}
              onToggle={() => onOpen(open === one.seq ? null : one.seq)}
            />
          ))}
        </tbody>
      </table>
      {requests.length > kShown && (
        <p class="muted pad">
          The newest {kShown}. “Alike together” counts all {count(requests.length)}.
        </p>
      )}
    </div>
  );
}

function Row({ one, open, onToggle }: { one: Told; open: boolean; onToggle: () => void }) {
  return (
    <>
      <tr class={open ? 'is-open' : ''}>
        <td class="num muted">{clock(Date.parse(one.at))}</td>
        <td>
          <button type="button" class="link" aria-expanded={open} onClick={onToggle}>
            {one.operation}
          </button>
        </td>
        <td>
          {one.table}
          {one.index && <span class="muted"> · {one.index}</span>}
        </td>
        <td class="mono small cut-key">{keyText(one)}</td>
        <td class={`num ${isWasteful(one) ? 'warn-text' : ''}`}>{itemsText(one)}</td>
        <td class="num">{unitsText(one)}</td>
        <td class="num muted">{milliseconds(one.milliseconds)}</td>
        <td>
          <OutcomeBadge outcome={one.outcome} />
        </td>
      </tr>
      {open && (
        <tr class="is-open">
          <td colSpan={8}>
            <Details one={one} />
          </td>
        </tr>
      )}
    </>
  );
}

function OutcomeBadge({ outcome }: { outcome: Told['outcome'] }) {
  if (outcome === 'served') return <span class="muted">served</span>;
  return <span class={`badge ${outcome === 'throttled' ? 'bad' : 'warn'}`}>{outcome}</span>;
}

function keyText(one: Told): string {
  const [first] = one.keys;
  if (!first) return '';
  const text =
    plainKey(first.partition) + (first.sort === null ? '' : ` · ${plainKey(first.sort)}`);
  return one.keyCount > 1 ? `${text} and ${count(one.keyCount - 1)} more` : text;
}

function Details({ one }: { one: Told }) {
  return (
    <div class="stack tight">
      <dl class="facts">
        <dt>Units</dt>
        <dd>
          {amount(one.read)} read, {amount(one.write)} write
          {one.bytes !== null && `; ${bytes(one.bytes)} of items as stored`}
        </dd>
        <dt>Consistency</dt>
        <dd>{one.consistency}</dd>
        {one.scanned !== null && (
          <>
            <dt>Items</dt>
            <dd>
              {count(one.scanned)} read, {count(one.returned ?? 0)} returned
              {isWasteful(one) && ': most of what was paid for was thrown away'}
            </dd>
          </>
        )}
        {one.keys.map((key, i) => (
          <KeyFact key={`${i} ${key.partition}`} table={one.table} value={key} />
        ))}
        {one.keyCount > one.keys.length && (
          <>
            <dt>More keys</dt>
            <dd>{count(one.keyCount - one.keys.length)}</dd>
          </>
        )}
      </dl>
      <div class="row">
        <a class="button small" href={href(['tables', one.table, 'heat'])}>
          <Icon name="heat" />
          Heat of {one.table}
        </a>
        {one.outcome === 'throttled' && (
          <a class="button small" href={href(['tables', one.table, 'throttling'])}>
            <Icon name="warn" />
            Why it was throttled
          </a>
        )}
      </div>
    </div>
  );
}

function KeyFact({ table, value }: { table: string; value: Told['keys'][number] }) {
  const whole = [value.partition, value.sort].filter((one) => one !== null) as string[];
  const cut = whole.some((one) => one.endsWith('…') || one.includes('\u001f'));
  const text = whole.map(plainKey).join(' · ');
  return (
    <>
      <dt>Key</dt>
      <dd class="mono small">
        {cut ? (
          text
        ) : (
          <a href={href(['tables', table, 'items'], { item: JSON.stringify(whole) })}>{text}</a>
        )}
      </dd>
    </>
  );
}

function Alike({ shapes: all }: { shapes: readonly Shape[] }) {
  return (
    <div class="scroll-x card">
      <table class="plain requests" aria-label="Requests alike">
        <thead>
          <tr>
            <th scope="col" class="num">
              Requests
            </th>
            <th scope="col">Operation</th>
            <th scope="col">Table</th>
            <th scope="col" class="num">
              Items
            </th>
            <th scope="col" class="num">
              Units
            </th>
            <th scope="col" class="num">
              Mean
            </th>
            <th scope="col" class="num">
              Slowest
            </th>
            <th scope="col">Not served</th>
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <tr key={one.id}>
              <td class="num">
                <strong>{count(one.requests)}</strong> ×
              </td>
              <th scope="row">{one.operation}</th>
              <td>
                <a href={href(['tables', one.table, 'heat'])}>{one.table}</a>
                {one.index && <span class="muted"> · {one.index}</span>}
              </td>
              <td class={`num ${isWasteful(one) ? 'warn-text' : ''}`}>
                {one.scanned > 0
                  ? one.scanned === one.returned
                    ? count(one.returned)
                    : `${count(one.returned)} of ${count(one.scanned)}`
                  : ''}
              </td>
              <td class="num">{unitsText(one)}</td>
              <td class="num muted">{milliseconds(one.mean)}</td>
              <td class="num muted">{milliseconds(one.slowest)}</td>
              <td class="num">
                {one.failed > 0 ? <span class="badge bad">{count(one.failed)}</span> : ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
