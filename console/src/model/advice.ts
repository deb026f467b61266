// What `stator advise` found, as the server tells it, and where each finding is mended. Pure.

export interface RecordingState {
  on: boolean;
  since: string | null;
  secondsLeft: number;
  requests: number;
  dropped: number;
  bytes: number;
  mostBytes: number;
}

export type Level = 'problem' | 'saving' | 'hint';

export interface FoundThing {
  id: string;
  level: Level;
  index?: string;
  text: string;
  evidence: Record<string, number>;
  saves_month?: number;
}

export interface KeyUse {
  requests: number;
  units: number;
  peak_units_per_second: number;
  distribution: 'good' | 'fair' | 'poor' | 'unknown';
  hottest: { key: string; share: number }[];
}

export interface AdvisedResource {
  name: string;
  kind: 'table' | 'index';
  reads: KeyUse;
  writes: KeyUse;
}

export interface AdviceReply {
  looked: number;
  of: number;
  recording: RecordingState;
  report: {
    recording: { requests: number; start_micros: number; end_micros: number; limits: string[] };
    tables: {
      name: string;
      billing: string;
      resources: AdvisedResource[];
      findings: FoundThing[];
    }[];
  };
}

export interface Advised extends FoundThing {
  table: string;
}

const kOrder: Record<Level, number> = { problem: 0, saving: 1, hint: 2 };

// All findings, the worst first; those of one table, if it is named. The server has sorted those of
// each table already: equal ones keep their order.
export function advised(reply: AdviceReply, table?: string | null): Advised[] {
  return reply.report.tables
    .filter((one) => !table || one.name === table)
    .flatMap((one) => one.findings.map((found) => ({ ...found, table: one.name })))
    .sort(
      (a, b) =>
        kOrder[a.level] - kOrder[b.level] ||
        Number(a.id === 'unused-index') - Number(b.id === 'unused-index') ||
        (b.saves_month ?? 0) - (a.saves_month ?? 0),
    );
}

interface Known {
  title: string;
  // The tab where it is seen and mended.
  tab: 'heat' | 'throttling' | 'capacity' | 'indexes' | 'items';
  // Whether another key can be tried on Design.
  design?: boolean;
}

const kKnown: Record<string, Known> = {
  'hot-key': { title: 'One key is too hot', tab: 'heat', design: true },
  'moving-key': { title: 'The load moves from key to key', tab: 'heat', design: true },
  'upload-order': { title: 'Written one key after the other', tab: 'heat', design: true },
  'uneven-suffixes': { title: 'Suffixes of a key are uneven', tab: 'heat', design: true },
  'poor-distribution': { title: 'Keys are used unevenly', tab: 'heat', design: true },
  throttled: { title: 'Requests were refused', tab: 'throttling', design: true },
  'model-throttles': {
    title: 'DynamoDB would have refused requests',
    tab: 'throttling',
    design: true,
  },
  'eventual-reads': { title: 'Strong reads cost twice', tab: 'capacity' },
  'split-items': { title: 'Reads need a small part of large items', tab: 'items' },
  'split-items-written': { title: 'Updates touch a small part of large items', tab: 'items' },
  'query-collection': { title: 'Many reads where one Query would do', tab: 'items' },
  'slim-index': { title: 'A slim index would cost less', tab: 'indexes' },
  'sort-key-prefix': { title: 'A filter drops most of what is read', tab: 'items' },
  'sparse-index': { title: 'A Scan looks for few items', tab: 'indexes' },
  'wide-projection': { title: 'The index holds more than is read', tab: 'indexes' },
  'index-amplification': { title: 'Indexes cost more than their table', tab: 'indexes' },
  'large-item': { title: 'Items are near the largest size', tab: 'items' },
  'large-collection': { title: 'A collection is near its limit', tab: 'items' },
  'delete-churn': { title: 'Items are deleted one by one', tab: 'items' },
  'ttl-form': { title: 'Items never expire', tab: 'items' },
  capacity: { title: 'More capacity than is used', tab: 'capacity' },
  'billing-mode': { title: 'The other way to pay costs less', tab: 'capacity' },
  'unused-index': { title: 'Nothing reads this index', tab: 'indexes' },
};

// A kind of finding that a newer server has is shown by its id.
export const knownOf = (id: string): Known =>
  kKnown[id] ?? { title: id.replaceAll('-', ' '), tab: 'items' };

// The sentence that says what was seen, and those that say what helps.
export function sentencesOf(text: string): [string, string] {
  const cut = /[.:] (?=[A-Z])/.exec(text);
  return cut ? [text.slice(0, cut.index + 1), text.slice(cut.index + 2).trim()] : [text, ''];
}

export const kLevels: readonly { level: Level; name: string; none: string }[] = [
  { level: 'problem', name: 'Problems', none: 'No problem' },
  { level: 'saving', name: 'Savings', none: 'No saving' },
  { level: 'hint', name: 'Hints', none: 'No hint' },
];
