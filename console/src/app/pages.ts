// The pages: what the navigation lists, which key leads there, and what has to be loaded for them.
import type { ComponentType } from 'preact';
import type { TableDescription } from '../model/table.ts';
import type { IconName } from '../ui/icons.tsx';
import { session } from './session.ts';
import { boot, has } from './state.ts';

export interface Page {
  id: string;
  name: string;
  icon: IconName;
  // Behind `g`.
  key: string;
  // Listed only where this holds.
  when?: () => boolean;
  load: () => Promise<{ default: ComponentType }>;
}

export const kPages: readonly Page[] = [
  {
    id: 'overview',
    name: 'Overview',
    icon: 'overview',
    key: 'o',
    load: () => import('../pages/overview/index.tsx'),
  },
  {
    id: 'tables',
    name: 'Tables',
    icon: 'tables',
    key: 't',
    load: () => import('../pages/tables/index.tsx'),
  },
  {
    id: 'partiql',
    name: 'PartiQL',
    icon: 'partiql',
    key: 'p',
    load: () => import('../pages/partiql/index.tsx'),
  },
  {
    id: 'requests',
    name: 'Requests',
    icon: 'requests',
    key: 'r',
    when: () => has('requests'),
    load: () => import('../pages/requests/index.tsx'),
  },
  {
    id: 'advice',
    name: 'Advice',
    icon: 'advice',
    key: 'v',
    when: () => has('advice'),
    load: () => import('../pages/advice/index.tsx'),
  },
  {
    id: 'metrics',
    name: 'Metrics',
    icon: 'metrics',
    key: 'm',
    load: () => import('../pages/metrics/index.tsx'),
  },
  {
    id: 'design',
    name: 'Design',
    icon: 'design',
    key: 'd',
    when: () => has('simulate'),
    load: () => import('../pages/design/index.tsx'),
  },
  {
    id: 'faults',
    name: 'Faults & clock',
    icon: 'faults',
    key: 'f',
    load: () => import('../pages/faults/index.tsx'),
  },
  {
    id: 'backups',
    name: 'Backups',
    icon: 'backup',
    key: 'b',
    load: () => import('../pages/backups/index.tsx'),
  },
  {
    id: 'cluster',
    name: 'Cluster',
    icon: 'cluster',
    key: 'c',
    when: () => has('cluster'),
    load: () => import('../pages/cluster/index.tsx'),
  },
  {
    id: 'access',
    name: 'Access',
    icon: 'user',
    key: 'a',
    when: () => session.value !== null || (boot.value?.accessControl ?? false),
    load: () => import('../pages/access/index.tsx'),
  },
  {
    id: 'settings',
    name: 'Settings',
    icon: 'settings',
    key: 's',
    load: () => import('../pages/settings/index.tsx'),
  },
];

// Tabs of a table, below tables/NAME/.
export interface Tab {
  id: string;
  name: string;
  load: () => Promise<{ default: ComponentType<{ table: TableDescription }> }>;
}

export const kTabs: readonly Tab[] = [
  { id: 'items', name: 'Items', load: () => import('../pages/items/index.tsx') },
  { id: 'heat', name: 'Heat', load: () => import('../pages/heat/index.tsx') },
  { id: 'throttling', name: 'Throttling', load: () => import('../pages/throttling/index.tsx') },
  { id: 'capacity', name: 'Capacity', load: () => import('../pages/capacity/index.tsx') },
  { id: 'indexes', name: 'Indexes', load: () => import('../pages/indexes/index.tsx') },
  { id: 'streams', name: 'Stream', load: () => import('../pages/streams/index.tsx') },
  { id: 'backups', name: 'Backups', load: () => import('../pages/backups/tab.tsx') },
  { id: 'time', name: 'Time', load: () => import('../pages/time/index.tsx') },
];

export const pages = (): Page[] => kPages.filter((page) => page.when?.() ?? true);
