// Where in the table the load lies, over time: one map for the table and one for each global index.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management, managementText, query as queryText } from '../../api/management.ts';
import { type PartitionReport, partitionsOf } from '../../api/partitions.ts';
import { useKeys } from '../../app/keys.ts';
import { poll } from '../../app/live.ts';
import { route, setQuery } from '../../app/router.ts';
import { has } from '../../app/state.ts';
import {
  columnTime,
  type HeatReply,
  type HeatResource,
  hottest,
  isHot,
  type Metric,
  placeOf,
  type Selection,
} from '../../model/heat.ts';
import { keysOf, type TableDescription } from '../../model/table.ts';
import { parseText } from '../../model/text_value.ts';
import { type AttributeValue, itemOf } from '../../model/value.ts';
import { copyText } from '../../ui/copy.tsx';
import { Choice } from '../../ui/field.tsx';
import { saveFile } from '../../ui/file.ts';
import { clock, dateTime, percent, plural, unitRate } from '../../ui/format.ts';
import { Menu } from '../../ui/menu.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { HeatMap } from './map.tsx';
import { HeatPanel } from './panel.tsx';

const kSpans = [
  { value: '3m', label: '3 min', step: '1s' },
  { value: '9m', label: '9 min', step: '3s' },
  { value: '1h', label: '1 h', step: '60s' },
  { value: '12h', label: '12 h', step: '300s' },
  { value: '7d', label: '7 days', step: '1h' },
] as const;
type Span = (typeof kSpans)[number]['value'];

// By time, not by column: the picture moves on while it is live.
interface Chosen {
  resource: string;
  from: number;
  to: number;
  fromRange: number;
  toRange: number;
}

const chosenOf = (resource: HeatResource, selection: Selection): Chosen => ({
  resource: resource.name,
  from: columnTime(resource, selection.fromColumn),
  to: columnTime(resource, selection.toColumn),
  fromRange: selection.fromRange,
  toRange: selection.toRange,
});

// The columns and ranges that the picture has of it now; null: it has moved out of the picture.
function selectionOf(resource: HeatResource, chosen: Chosen | null): Selection | null {
  if (chosen?.resource !== resource.name || resource.ranges.length === 0) return null;
  const column = (time: number) =>
    Math.round((time - Date.parse(resource.from)) / 1000 / resource.columnSeconds);
  const toColumn = Math.min(column(chosen.to), resource.columns - 1);
  if (toColumn < 0) return null;
  const last = resource.ranges.length - 1;
  return {
    fromColumn: Math.min(Math.max(0, column(chosen.from)), toColumn),
    toColumn,
    fromRange: Math.min(chosen.fromRange, last),
    toRange: Math.min(chosen.toRange, last),
  };
}

interface Marked {
  index: string | null;
  place: number;
  text: string;
}

export default function Heat({ table }: { table: TableDescription }) {
  const name = table.TableName;
  const query = route.value.query;
  const span = (kSpans.find((one) => one.value === query.get('last')) ??
    kSpans[0]) as (typeof kSpans)[number];
  const from = query.get('from') ?? undefined;
  const to = query.get('to') ?? undefined;
  const metric = (
    ['heat', 'read', 'write', 'refused'].includes(query.get('metric') ?? '')
      ? query.get('metric')
      : 'heat'
  ) as Metric;
  const equal = query.has('equal');
  const [reply, setReply] = useState<HeatReply | null>(null);
  const [report, setReport] = useState<PartitionReport | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [marks, setMarks] = useState<Marked[]>([]);
  const parameters = useMemo(
    () =>
      from === undefined
        ? queryText({ last: span.value, step: span.step })
        : queryText({ from, to }),
    [from, to, span],
  );
  const path = `tables/${encodeURIComponent(name)}/heat`;

  useEffect(() => {
    setChosen(null);
    return poll(
      async (signal) => {
        try {
          const [heat, partitions] = await Promise.all([
            management<HeatReply>(path + parameters, { table: name, signal, background: true }),
            partitionsOf(name, signal),
          ]);
          setReply(heat);
          setReport(partitions);
          setError(null);
        } catch (failure) {
          if (!isStopped(failure)) setError(failure);
          throw failure;
        }
      },
      () => (from !== undefined ? 3_600_000 : span.step === '1s' ? 1000 : 3000),
    );
  }, [path, parameters, name]);

  // A link from Throttling names the partition that it means.
  const wantedId = query.get('partition');
  const wantedIndex = query.get('index');
  const ready = reply !== null && report !== null;
  useEffect(() => {
    if (!ready || wantedId === null) return;
    const found = report.resources.find((one) =>
      wantedIndex === null ? one.type === 'table' : one.name.split('/').at(-1) === wantedIndex,
    );
    const partition = found?.partitions.find((one) => String(one.id) === wantedId);
    const resource = reply.resources.find(
      (one) => one.name === found?.name && one.type === found?.type,
    );
    if (!partition || !resource) return;
    const range = resource.ranges.findLastIndex((one) => one.from.hash <= partition.from.hash);
    setChosen(
      chosenOf(resource, {
        fromColumn: 0,
        toColumn: resource.columns - 1,
        fromRange: Math.max(0, range),
        toRange: Math.max(0, range),
      }),
    );
  }, [ready, wantedId, wantedIndex]);

  const zoom = (resource: HeatResource, selection: Selection) => {
    const seconds = (ms: number) => String(Math.round(ms / 1000));
    const begin = columnTime(resource, selection.fromColumn);
    const end = columnTime(resource, selection.toColumn + 1);
    // A zoom shows at least ten seconds.
    const middle = (begin + end) / 2;
    const half = Math.max(5000, (end - begin) / 2);
    setQuery({ from: seconds(middle - half), to: seconds(middle + half) }, false);
  };
  const out = () => setQuery({ from: undefined, to: undefined }, false);
  useKeys(
    { '0': out, backspace: () => history.back(), escape: () => setChosen(null) },
    { '0': 'The newest, unzoomed', Backspace: 'Back', Esc: 'Close the selection' },
  );

  if (!reply)
    return error !== null ? <ErrorBox error={error} /> : <p class="loading">Asking the server…</p>;
  const resources = reply.resources;
  const cold = resources.every((one) => hottest(one, 1).length === 0);
  return (
    <>
      <div class="row heat-tools">
        <Choice<Span | ''>
          legend="Time"
          hideLegend
          value={from === undefined ? span.value : ''}
          options={kSpans}
          onChange={(value) => setQuery({ last: value, from: undefined, to: undefined })}
        />
        {from !== undefined && (
          <button type="button" class="small" onClick={out}>
            Back to the newest
          </button>
        )}
        <Choice<Metric>
          legend="Colour"
          hideLegend
          value={metric}
          options={[
            { value: 'heat', label: 'Heat', hint: 'Part of what one partition can do' },
            { value: 'read', label: 'Reads', hint: 'Read units, relative to the highest' },
            { value: 'write', label: 'Writes', hint: 'Write units, relative to the highest' },
            { value: 'refused', label: 'Beyond limits', hint: 'Relative to the highest' },
          ]}
          onChange={(value) => setQuery({ metric: value === 'heat' ? undefined : value })}
        />
        <label class="check small">
          <input
            type="checkbox"
            checked={equal}
            onChange={(event) => setQuery({ equal: event.currentTarget.checked ? '1' : undefined })}
          />
          rows of equal height
        </label>
        <span class="grow" />
        {has('place') && <WhereIs table={table} onFound={setMarks} />}
        <Menu
          label="More"
          class="square"
          items={[
            {
              label: 'Copy the link',
              icon: 'link',
              run: () => void copyText(location.href).then(() => say('The link was copied')),
            },
            {
              label: 'Save as SVG',
              icon: 'download',
              run: () =>
                void managementText(`${path}.svg${parameters}`, { accept: 'image/svg+xml' }).then(
                  (text) => saveFile(`${name}.heat.svg`, [text], 'image/svg+xml'),
                  sayError,
                ),
            },
            {
              label: 'Save as JSON',
              icon: 'download',
              run: () => saveFile(`${name}.heat.json`, [JSON.stringify(reply)], 'application/json'),
            },
          ]}
        />
      </div>
      {error !== null && <ErrorBox error={error} />}
      {cold && (
        <p class="note">
          Nothing was read or written in this time. Each partition is a row; requests colour it
          within a second.
        </p>
      )}
      {resources.map((resource) => {
        const index =
          resource.type === 'index'
            ? (resource.name.split('/').at(-1) ?? resource.name)
            : undefined;
        const label = index === undefined ? name : `Index ${index}`;
        const selection = selectionOf(resource, chosen);
        const mark = marks.find((one) => one.index === (index ?? null));
        return (
          <section key={resource.name} class="stack" aria-label={`Heat of ${label}`}>
            <div class="card heat-card">
              <header>
                <h2>
                  {label}{' '}
                  <span class="muted small">{plural(resource.ranges.length, 'range')} of keys</span>
                </h2>
                {mark && (
                  <span class="badge blue">
                    <code>{mark.text}</code> lies at the blue line
                  </span>
                )}
                <Legend metric={metric} />
              </header>
              <HeatMap
                resource={resource}
                label={label}
                metric={metric}
                equal={equal}
                mark={mark?.place ?? null}
                selection={selection}
                onSelect={(next) => setChosen(next && chosenOf(resource, next))}
              />
              <div class="heat-axis muted small">
                <span>{dateTime(columnTime(resource, 0))}</span>
                <span>
                  {resource.columnSeconds >= 60
                    ? `columns of ${resource.columnSeconds / 60} min: bursts of seconds look colder than they were`
                    : `columns of ${resource.columnSeconds} s`}
                  {' · drag to select; keys: arrows move, Shift selects, n the next hot spot'}
                </span>
                <span>{clock(columnTime(resource, resource.columns))} UTC</span>
              </div>
            </div>
            {selection && (
              <HeatPanel
                table={table}
                index={index}
                resource={resource}
                selection={selection}
                report={report}
                onClose={() => setChosen(null)}
                onZoom={() => zoom(resource, selection)}
              />
            )}
            <Spots resource={resource} onOpen={(next) => setChosen(chosenOf(resource, next))} />
          </section>
        );
      })}
    </>
  );
}

function Legend({ metric }: { metric: Metric }) {
  return (
    <span class="legend muted small">
      {metric === 'heat' ? 'cold' : '0'}
      <svg viewBox="0 0 110 8" aria-hidden="true" focusable="false">
        {Array.from({ length: 11 }, (_, i) => (
          <rect key={i} class={`h${i}`} x={i * 10} y="0" width="10" height="8" />
        ))}
      </svg>
      {metric === 'heat' ? 'all that a partition can do, and more' : 'the highest here'}
      <span class="hatched" aria-hidden="true" /> beyond a limit
    </span>
  );
}

function Spots({
  resource,
  onOpen,
}: {
  resource: HeatResource;
  onOpen: (selection: Selection) => void;
}) {
  const spots = hottest(resource, 20);
  const hot = spots.filter(isHot).length;
  if (spots.length === 0) return null;
  return (
    <details class="card spots">
      <summary class="pad">
        {hot > 0
          ? `${plural(hot, 'hot spot')} as a table`
          : 'No hot spots: the busiest ranges as a table'}
      </summary>
      <div class="scroll-x">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Keys from</th>
              <th scope="col">Worst at</th>
              <th scope="col" class="num">
                Heat
              </th>
              <th scope="col" class="num">
                Beyond limits
              </th>
              <th scope="col">
                <span class="visually-hidden">Open</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {spots.map((spot) => (
              <tr key={spot.range}>
                <td>
                  <code>{resource.ranges[spot.range]?.from.hash}</code>
                </td>
                <td>{clock(columnTime(resource, spot.column))} UTC</td>
                <td class="num">{percent(spot.heat)}</td>
                <td class={`num ${spot.refused > 0 ? 'bad-text' : ''}`}>
                  {unitRate(spot.refused)}
                </td>
                <td>
                  <button
                    type="button"
                    class="small"
                    aria-label={`Open range ${spot.range + 1}`}
                    onClick={() =>
                      onOpen({
                        fromColumn: spot.column,
                        toColumn: spot.column,
                        fromRange: spot.range,
                        toRange: spot.range,
                      })
                    }
                  >
                    Open
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

// Marks the row in which a key lies. Nothing is read.
function WhereIs({
  table,
  onFound,
}: {
  table: TableDescription;
  onFound: (marks: Marked[]) => void;
}) {
  const [text, setText] = useState('');
  const key = keysOf(table).partition[0];
  if (!key) return null;
  const find = async () => {
    if (text === '') return onFound([]);
    const parsed = parseText(key.type, text);
    if ('error' in parsed) return say(parsed.error, 'bad');
    const values: [string, AttributeValue][] = [[key.name, parsed.value]];
    try {
      const { places } = await management<{ places: { index: string | null; hash: string }[] }>(
        `tables/${encodeURIComponent(table.TableName)}/place`,
        { method: 'POST', table: table.TableName, body: { key: itemOf(values) } },
      );
      onFound(
        places.map((one) => ({ index: one.index, place: placeOf({ hash: one.hash }), text })),
      );
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        void find();
      }}
    >
      <input
        type="search"
        class="where"
        aria-label={`Where is a value of ${key.name}?`}
        placeholder={`Find a ${key.name}`}
        value={text}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value);
          if (event.currentTarget.value === '') onFound([]);
        }}
      />
      <button type="submit">Find</button>
    </form>
  );
}
