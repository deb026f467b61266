// Decides whether a history of operations on one item is linearizable. Just-in-time linearization
// (Lowe, "Testing for linearizability", 2017) over the events in time order: a configuration is a
// state of the item and the operations under way that have already taken effect in it. When an
// operation returns, every configuration in which it has not taken effect is replaced by all those
// that let it, after any of the others under way. If no configuration is left, the history up to
// this return is the smallest prefix that is not linearizable.
//
// Items are independent of each other, so a history is linearizable exactly if that of each of its
// items is.
//
// An operation is {call, return, kind, answered, ...}. An unanswered operation took effect before
// `return` or, if that is undefined, before `death.tick`, when its server was gone, or never.
// Answers are compared with the item's specification (registerStep).

/**
 * The item as a register `v` and a counter `n`, both text or missing; undefined: no item. A state
 * is its text.
 */
export const stateOf = (item) => (item === undefined ? '-' : `${item.n ?? ''}/${item.v ?? ''}`);
function itemOf(state) {
  if (state === '-') return undefined;
  const cut = state.indexOf('/');
  const item = {};
  if (cut > 0) item.n = state.slice(0, cut);
  if (cut + 1 < state.length) item.v = state.slice(cut + 1);
  return item;
}

function holds(condition, item) {
  if (condition === undefined) return true;
  if (condition.exists !== undefined) return (item !== undefined) === condition.exists;
  return (
    item !== undefined && Object.entries(condition).every(([name, value]) => item[name] === value)
  );
}

/**
 * What `operation` does to an item in `state`: the state it leaves, or undefined if its answer
 * (given that it was answered) is not what it would have been.
 *   {kind: 'read', seen}                  seen: the state that was answered
 *   {kind: 'put', item, ...}              the item afterwards
 *   {kind: 'update', set, add, ...}       v becomes `set` (if given), n grows by `add` (if given)
 *   {kind: 'delete', ...}
 * Writes may have `condition` ({exists} or {n} or {v}), `failed` (the condition did not hold) and,
 * of what was answered, `before` and `after` (states), `n` (the counter afterwards).
 */
export function registerStep(state, operation) {
  const { kind, answered } = operation;
  if (kind === 'read') return !answered || operation.seen === state ? state : undefined;
  const item = itemOf(state);
  if (answered && operation.before !== undefined && operation.before !== state) return undefined;
  if (!holds(operation.condition, item)) return answered && !operation.failed ? undefined : state;
  if (answered && operation.failed) return undefined;
  let after;
  if (kind === 'put') {
    after = operation.item;
  } else if (kind === 'update') {
    after = { ...item };
    if (operation.set !== undefined) after.v = operation.set;
    if (operation.add !== undefined) after.n = String(Number(after.n ?? 0) + operation.add);
  }
  const next = stateOf(after);
  if (answered && operation.after !== undefined && operation.after !== next) return undefined;
  if (answered && operation.n !== undefined && operation.n !== after.n) return undefined;
  return next;
}

// The text that identifies equal configurations. `done`: sorted indices of operations under way.
const textOf = ({ state, done }) => `${state}|${done.join(',')}`;
const withIndex = (done, index) => [...done, index].sort((a, b) => a - b);

/**
 * Of a history of registers, what is left without unanswered reads and without unanswered writes whose value nobody has
 * seen. What explains it explains all (these never took effect), and it is much shorter after a long stall; what does not
 * tells nothing.
 */
export function withoutUnseen(history) {
  const seen = new Set();
  for (const { answered, seen: read, before, after, condition } of history) {
    if (!answered) continue;
    for (const state of [read, before, after]) {
      if (state !== undefined && state !== '-') seen.add(state.slice(state.indexOf('/') + 1));
    }
    if (condition?.v !== undefined) seen.add(condition.v);
  }
  return history.filter(({ answered, kind, item, set }) => {
    if (answered) return true;
    const value = kind === 'put' ? item.v : set;
    return kind !== 'read' && (value === undefined || seen.has(value));
  });
}

/**
 * Checks operations on one item that begins as `initial`. Returns {ok: true, configurations} (the
 * most there were at once) or {ok: false, failing, states, prefix}: the operation whose answer
 * cannot be explained, the states that the item may have been in when it returned, and the
 * operations that began before that, in the order of their calls. {ok: undefined}: there are more
 * than `most` configurations to look at.
 */
export function check(history, { step = registerStep, initial = '-', most: limit = Infinity } = {}) {
  const operations = history.map((operation) => ({
    ...operation,
    return: operation.return ?? operation.death?.tick ?? Infinity,
  }));
  const events = [];
  operations.forEach((operation, index) => {
    events.push({ at: operation.call, index, begins: true });
    if (operation.return !== Infinity) events.push({ at: operation.return, index, begins: false });
  });
  events.sort((a, b) => a.at - b.at);

  const under = new Set(); // operations under way

  // Operations that never change a state take effect as soon as their answer allows: every sequence
  // that is possible without them is possible with them. (A write that changes nothing now might
  // have to change something later.)
  const settle = (configuration) => {
    for (const index of under) {
      const operation = operations[index];
      if ((operation.kind !== 'read' && !operation.failed) || configuration.done.includes(index))
        continue;
      if (step(configuration.state, operation) !== undefined)
        configuration.done = withIndex(configuration.done, index);
    }
    return configuration;
  };
  let configurations = new Map();
  const start = { state: initial, done: [] };
  configurations.set(textOf(start), start);
  let most = 1;

  for (const { index, begins } of events) {
    const next = new Map();
    if (begins) {
      under.add(index);
      for (const configuration of configurations.values()) {
        settle(configuration);
        next.set(textOf(configuration), configuration);
      }
      configurations = next;
      continue;
    }
    const operation = operations[index];
    const keep = (configuration) => {
      const left = {
        state: configuration.state,
        done: configuration.done.filter((other) => other !== index),
      };
      next.set(textOf(left), left);
    };
    const tried = new Set();
    const work = [...configurations.values()];
    for (const { state, done } of work) tried.add(textOf({ state, done }));
    while (work.length > 0) {
      const configuration = work.pop();
      if (configuration.done.includes(index)) {
        keep(configuration);
        continue;
      }
      if (!operation.answered) keep(configuration); // it never took effect
      for (const other of under) {
        if (configuration.done.includes(other)) continue;
        const state = step(configuration.state, operations[other]);
        if (state === undefined) continue;
        const moved = settle({ state, done: withIndex(configuration.done, other) });
        const text = textOf(moved);
        if (tried.has(text)) continue;
        if (tried.size > limit) return { ok: undefined };
        tried.add(text);
        work.push(moved);
      }
    }
    if (next.size === 0) {
      const prefix = operations
        .filter((other) => other.call < operation.return)
        .sort((a, b) => a.call - b.call);
      return {
        ok: false,
        failing: operation,
        states: [...new Set([...configurations.values()].map(({ state }) => state))],
        prefix,
      };
    }
    under.delete(index);
    configurations = next;
    most = Math.max(most, next.size);
  }
  return { ok: true, configurations: most };
}

/** A failure of `check` for people: the last operations of the smallest failing prefix. */
export function explain({ failing, states, prefix }, describe = JSON.stringify) {
  const last = prefix
    .filter((operation) => operation.return > failing.call - 60 || operation === failing)
    .slice(-40);
  const lines = last.map(
    (operation) => `${operation === failing ? '>>' : '  '} ${describe(operation)}`,
  );
  return (
    `the item may have been ${states.join(' or ')}; no order explains the marked operation ` +
    `(${prefix.length} operations in the smallest failing prefix, the last of them):\n` +
    lines.join('\n')
  );
}
