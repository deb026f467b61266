// The rules of the fault dial: which settings a kind has, and what a rule says in words. Pure.

export const kFaults = [
  'stale-read',
  'index-delay',
  'conflict',
  'in-progress',
  'throttle',
  'error',
  'unprocessed',
  'slow',
] as const;
export type FaultKind = (typeof kFaults)[number];

export interface Rule {
  fault: FaultKind;
  probability?: number;
  operations?: string[];
  count?: number;
  seed?: number;
  age?: string;
  delay?: string;
  random?: boolean;
  index?: string;
  cause?: string;
  when?: string;
  share?: number;
  // Answered only.
  asked?: number;
  struck?: number;
}

export type Setting = 'age' | 'delay' | 'random' | 'index' | 'cause' | 'when' | 'share';

interface Kind {
  name: string;
  // What meets it, and what happens then.
  says: string;
  own: readonly Setting[];
  operations: readonly string[];
}

const kReads = ['GetItem', 'BatchGetItem', 'Query', 'Scan'] as const;
const kWrites = ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem'] as const;
const kTransactions = ['TransactGetItems', 'TransactWriteItems'] as const;
const kAll = [...kReads, ...kWrites, ...kTransactions] as const;

export const kKinds: Record<FaultKind, Kind> = {
  'stale-read': {
    name: 'Stale reads',
    says: 'Reads without ConsistentRead answer an older state',
    own: ['age', 'random'],
    operations: kReads,
  },
  'index-delay': {
    name: 'Indexes lag',
    says: 'Query and Scan of a global index answer an older state',
    own: ['delay', 'random', 'index'],
    operations: ['Query', 'Scan'],
  },
  conflict: {
    name: 'Conflicts',
    says: 'Writes fail as if a transaction held the item',
    own: [],
    operations: ['PutItem', 'UpdateItem', 'DeleteItem', ...kTransactions],
  },
  'in-progress': {
    name: 'Transaction under way',
    says: 'A repeated TransactWriteItems is told that the first one still runs',
    own: [],
    operations: ['TransactWriteItems'],
  },
  throttle: {
    name: 'Throttling',
    says: 'Requests are refused for their throughput',
    own: ['cause', 'index'],
    operations: kAll,
  },
  error: {
    name: 'Errors',
    says: 'InternalServerError, before anything is done or after all is',
    own: ['when'],
    operations: kAll,
  },
  unprocessed: {
    name: 'Half batches',
    says: 'Batches leave a part of their entries undone',
    own: ['share'],
    operations: ['BatchGetItem', 'BatchWriteItem'],
  },
  slow: {
    name: 'Slow replies',
    says: 'Replies come later',
    own: ['delay', 'random'],
    operations: kAll,
  },
};

// "1 of 10 requests", "every request".
export function odds(probability: number): string {
  if (probability >= 1) return 'every request';
  if (probability <= 0) return 'no request';
  const one = 1 / probability;
  return one >= 2
    ? `about 1 of ${Math.round(one)} requests`
    : `about ${Math.round(probability * 10)} of 10 requests`;
}

export function inWords(rule: Rule): string {
  const parts = [odds(rule.probability ?? 1)];
  if (rule.operations && rule.operations.length > 0) parts.push(`of ${rule.operations.join(', ')}`);
  if (rule.index) parts.push(`on index ${rule.index}`);
  const lasts = rule.age ?? rule.delay;
  if (lasts) parts.push(`${rule.random ? 'up to ' : ''}${lasts}`);
  if (rule.when) parts.push(`${rule.when} the work`);
  if (rule.share !== undefined) parts.push(`${Math.round(rule.share * 100)}% left undone`);
  if (rule.cause) parts.push(`cause ${rule.cause}`);
  if (rule.count !== undefined) parts.push(`${rule.count} times, then no more`);
  return parts.join(', ');
}

export interface Preset {
  name: string;
  says: string;
  rules: readonly Rule[];
}

export const kPresets: readonly Preset[] = [
  {
    name: 'Eventually consistent',
    says: 'Reads up to a second old, indexes up to two seconds behind',
    rules: [
      { fault: 'stale-read', age: '1s', random: true, probability: 0.3 },
      { fault: 'index-delay', delay: '2s', random: true, probability: 0.5 },
    ],
  },
  {
    name: 'Bad network',
    says: 'Slow replies, and answers that are lost after the work was done',
    rules: [
      { fault: 'slow', delay: '800ms', random: true, probability: 0.2 },
      { fault: 'error', when: 'after', probability: 0.03 },
    ],
  },
  {
    name: 'Throttle storm',
    says: 'Every second request is refused',
    rules: [{ fault: 'throttle', probability: 0.5 }],
  },
  {
    name: 'Half batches',
    says: 'Each batch leaves half of its entries undone',
    rules: [{ fault: 'unprocessed', share: 0.5 }],
  },
];

// As PUT takes it: without what only answers have.
export function asSent(rule: Rule): Rule {
  const { asked: _a, struck: _s, ...rest } = rule;
  return rest;
}

// Why the rule cannot be sent, by setting; empty: it can. The server has the last word.
export function wrongIn(rule: Rule): Partial<Record<Setting | 'probability' | 'count', string>> {
  const wrong: Partial<Record<Setting | 'probability' | 'count', string>> = {};
  const p = rule.probability ?? 1;
  if (!(p > 0 && p <= 1)) wrong.probability = 'Above 0, at most 100%';
  if (rule.count !== undefined && !(Number.isInteger(rule.count) && rule.count > 0))
    wrong.count = 'A whole number, or nothing';
  const own = kKinds[rule.fault].own;
  for (const setting of ['age', 'delay'] as const) {
    if (!own.includes(setting)) continue;
    if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(rule[setting] ?? ''))
      wrong[setting] = 'A duration such as 250ms or 2s';
  }
  if (rule.share !== undefined && !(rule.share > 0 && rule.share <= 1))
    wrong.share = 'Above 0, at most 100%';
  return wrong;
}
