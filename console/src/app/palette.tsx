// One field that leads anywhere: pages, tables, actions, and the item with a key.
import { useId, useRef, useState } from 'preact/hooks';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';
import { isLive, lookNow } from './live.ts';
import { kTabs, pages } from './pages.ts';
import { go, href, route } from './router.ts';
import { boot, has, tableNames } from './state.ts';
import { kThemes, theme } from './theme.ts';

interface Entry {
  // Other words that find it.
  also?: string;
  name: string;
  detail: string;
  icon: IconName;
  run: () => void;
}

const kMost = 50;

export default function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const found = search(text);
  const chosen = Math.min(at, found.length - 1);

  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const move = (to: number) => {
    setAt(to);
    list.current?.children[to]?.scrollIntoView({ block: 'nearest' });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') move(Math.min(found.length - 1, chosen + 1));
    else if (event.key === 'ArrowUp') move(Math.max(0, chosen - 1));
    else if (event.key === 'Enter') choose(found[chosen]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog title="Search" onClose={onClose}>
      <div class="palette">
        <input
          type="text"
          autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
          aria-label="Search pages, tables, actions and keys"
          placeholder="A page, a table, an action, or: music Nina Simone"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <ul id={id} role="listbox" aria-label="Results" ref={list}>
          {found.map((entry, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the field's.
            <li
              key={entry.name + entry.detail}
              id={`${id}-${i}`}
              role="option"
              aria-selected={i === chosen}
              onClick={() => choose(entry)}
              onMouseMove={() => setAt(i)}
            >
              <Icon name={entry.icon} />
              <span>{entry.name}</span>
              <span class="muted small">{entry.detail}</span>
            </li>
          ))}
        </ul>
        {found.length === 0 && <p class="muted pad">Nothing is called that.</p>}
      </div>
    </Dialog>
  );
}

function search(text: string): Entry[] {
  const wanted = text.trim().toLowerCase();
  const words = wanted.split(/\s+/).filter((word) => word !== '');
  const matches = (name: string) => words.every((word) => name.toLowerCase().includes(word));
  const called = (entry: Entry) => matches(`${entry.name} ${entry.detail}`);
  const found = (entry: Entry) => called(entry) || matches(`${entry.name} ${entry.also ?? ''}`);
  const all = pageEntries().filter(found);
  const actions = actionEntries().filter(found);
  const names = tableNames.value.filter(matches).slice(0, kMost);
  // What begins with the text comes first.
  names.sort(
    (a, b) =>
      Number(!a.toLowerCase().startsWith(wanted)) - Number(!b.toLowerCase().startsWith(wanted)),
  );
  const known = new Set(all.map((entry) => entry.name + entry.detail));
  const tables = names.map((name) => tableEntry(name));
  const cures = cureEntries(words);
  const tabs = tabEntries(words).filter((entry) => !known.has(entry.name + entry.detail));
  if (wanted === '') return [...all, ...actions, ...tables].slice(0, kMost);
  // Entries that are called so come before those that are about it; an action is never the first
  // that Enter takes by surprise.
  const rest = [...tables, ...all, ...tabs, ...cures, ...actions];
  return [
    ...keyEntries(text),
    ...rest.filter(called),
    ...rest.filter((entry) => !called(entry)),
  ].slice(0, kMost);
}

const tableEntry = (name: string): Entry => ({
  name,
  detail: 'table',
  icon: 'tables',
  run: () => void go(href(['tables', name, 'items'])),
});

const kMostTabs = 5;

// What pages and tabs are about, in other words than their names.
const kTabWords: Record<string, string> = {
  items: 'data rows query scan get read edit import export',
  heat: 'hot keys partitions shards split map suffixes',
  throttling: 'throttled refused limits enforce observe why hot keys suffixes',
  capacity: 'warm throughput units provisioned on demand auto scaling cost price money burst',
  indexes: 'gsi lsi secondary',
  streams: 'records shards changes triggers',
  backups: 'restore point in time recovery pitr',
  time: 'history past undo difference',
};
const kPageWords: Record<string, string> = {
  overview: 'heat hot partitions now events connect start home',
  tables: 'heat warm throughput items data',
  partiql: 'sql query select',
  requests: 'live log tail calls',
  advice: 'hot keys cost waste recording suffixes',
  metrics: 'latency errors rates prometheus cloudwatch',
  design: 'simulate cure cost price warm throughput suffixes shards heat',
  faults: 'errors latency test time',
  settings: 'theme dark light prices',
};

// "throttl": Throttling of each table; "throttl votes": of those that are called so. At most a few.
function tabEntries(words: readonly string[]): Entry[] {
  const found: Entry[] = [];
  for (const tab of kTabs) {
    const called = `${tab.name.toLowerCase()} ${kTabWords[tab.id] ?? ''}`;
    const left = words.filter((word) => !called.includes(word));
    if (left.length === words.length) continue;
    found.push(
      ...tableNames.value
        .filter((name) => left.every((word) => name.toLowerCase().includes(word)))
        .slice(0, kMostTabs)
        .map((name) => tabEntry(tab, name)),
    );
  }
  return found;
}

// "simulate votes", "give votes": what is done to a table, in the words of its buttons.
function cureEntries(words: readonly string[]): Entry[] {
  const found: Entry[] = [];
  for (const [name, address] of [
    ['Simulate a cure', (table: string) => href(['design'], { of: table })],
    ['Give other capacity', (table: string) => href(['tables', table, 'capacity'])],
  ] as const) {
    if (name.startsWith('Simulate') && !has('simulate')) continue;
    const left = words.filter((word) => !name.toLowerCase().includes(word));
    if (left.length === words.length) continue;
    found.push(
      ...tableNames.value
        .filter((table) => left.every((word) => table.toLowerCase().includes(word)))
        .slice(0, kMostTabs)
        .map(
          (table): Entry => ({
            name,
            detail: `of ${table}`,
            icon: 'design',
            run: () => void go(address(table)),
          }),
        ),
    );
  }
  return found;
}

const tabEntry = (tab: (typeof kTabs)[number], table: string): Entry => ({
  name: tab.name,
  also: kTabWords[tab.id] ?? '',
  detail: `of ${table}`,
  icon: 'right',
  run: () => void go(href(['tables', table, tab.id])),
});

function pageEntries(): Entry[] {
  const entries: Entry[] = pages().map((page) => ({
    name: page.name,
    also: kPageWords[page.id] ?? '',
    detail: 'page',
    icon: page.icon,
    run: () => void go(href([page.id])),
  }));
  const [first, table] = route.value.path;
  if (first === 'tables' && table && table !== 'new') {
    entries.push(...kTabs.map((tab) => tabEntry(tab, table)));
  }
  return entries;
}

const samples = () => import('../pages/overview/first_steps.tsx');

function actionEntries(): Entry[] {
  return [
    {
      name: 'Create a table',
      detail: 'action',
      icon: 'plus',
      run: () => void go(href(['tables', 'new'])),
    },
    ...(boot.value?.readOnly || tableNames.value.includes('music')
      ? []
      : [
          {
            name: 'Load the music sample',
            also: 'example data songs',
            detail: 'action',
            icon: 'download' as const,
            run: () => void samples().then((of) => of.musicSample()),
          },
        ]),
    ...(boot.value?.production || boot.value?.readOnly || boot.value?.throttling === 'off'
      ? []
      : [
          {
            name: 'Heat a sample table',
            also: 'example load votes hot throttling',
            detail: 'action',
            icon: 'play' as const,
            run: () => void samples().then((of) => of.heatSample()),
          },
        ]),
    {
      name: isLive.value ? 'Pause following the server' : 'Follow the server',
      detail: 'action',
      icon: isLive.value ? 'pause' : 'play',
      run: () => {
        isLive.value = !isLive.peek();
      },
    },
    { name: 'Ask the server again', detail: 'action', icon: 'refresh', run: lookNow },
    ...kThemes.map(
      (one): Entry => ({
        name: `Colours: ${one}`,
        detail: 'action',
        icon: 'sun',
        run: () => {
          theme.value = one;
        },
      }),
    ),
  ];
}

// `music Nina Simone`: the items with this partition key; `music Nina Simone / Sinnerman` with a
// sort key. The types are those of the table's key, which the page of the items knows.
function keyEntries(text: string): Entry[] {
  const match = /^\s*(\S+)\s+(.+?)(?:\s+\/\s+(.+?))?\s*$/.exec(text);
  if (!match) return [];
  const [, name, partition, sort] = match as unknown as [
    string,
    string,
    string,
    string | undefined,
  ];
  const table = tableNames.value.find((one) => one.toLowerCase() === name.toLowerCase());
  if (!table) return [];
  const query: [string, string][] = [['pk', partition]];
  if (sort !== undefined) query.push(['sk', JSON.stringify(['0', '=', sort])]);
  query.push(['run', '1']);
  return [
    {
      name: sort === undefined ? partition : `${partition} / ${sort}`,
      detail: `look up in ${table}`,
      icon: 'search',
      run: () => void go(href(['tables', table, 'items'], query)),
    },
  ];
}
