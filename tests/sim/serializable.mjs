// Decides whether a history of transactions is strictly serializable, after Elle (Kingsbury and
// Alvaro, VLDB 2020). Every write appends the id of its transaction to a list in the item, so a
// read tells which writes there were and in which order. From that follow dependencies between
// transactions:
//   ww  one wrote the version after the other's
//   wr  one read what the other wrote
//   rw  one read the version that the other replaced
//   rt  one was answered before the other was sent
// An order that explains everything exists exactly if the dependencies have no cycle.
//
// A transaction is {id, call, return, outcome, reads, writes}. outcome: 'ok', 'failed' (it changed
// nothing; its reads count) or 'unknown'. An unknown transaction has `death` instead of `return`,
// whose `tick` is when its server was gone. reads: [{key, list}], or {key, length} if only the
// number of writes is known. writes: [key].

/**
 * A contradiction. `transactions` are those that it is between, `edges[i]` leads from the i-th to
 * the next (cycles only).
 */
export class Anomaly extends Error {
  constructor(kind, text, transactions = [], edges = undefined) {
    super(`${kind}: ${text}`);
    Object.assign(this, { kind, transactions, edges });
  }
}

const isPrefix = (short, long) => short.every((id, i) => long[i] === id);

export class History {
  constructor() {
    this.transactions = new Map(); // by id
    this.versions = new Map(); // key -> ids of the longest list that was read
  }

  /** Adds a transaction that has ended. Throws an Anomaly if its reads do not fit those before. */
  add(transaction) {
    const { id, reads = [], writes = [], outcome } = transaction;
    if (this.transactions.has(id)) throw new Error(`transaction ${id} is there already`);
    this.transactions.set(id, {
      ...transaction,
      writes,
      outcome,
      reads: reads.map(({ key, list, length }) => ({
        key,
        length: list ? this.observe(key, list, id) : length,
      })),
    });
  }

  /** A list that was read. Returns its length. */
  observe(key, list, reader) {
    const known = this.versions.get(key) ?? [];
    const [short, long] = list.length < known.length ? [list, known] : [known, list];
    if (!isPrefix(short, long)) {
      const at = short.findIndex((id, i) => long[i] !== id);
      const from = Math.max(0, at - 2);
      throw new Anomaly(
        'incompatible order',
        `${reader} read ${key} as [.. ${list.slice(from, at + 3).join(' ')} ..], others saw ` +
          `[.. ${known.slice(from, at + 3).join(' ')} ..] from position ${from}`,
      );
    }
    if (list.length > known.length) this.versions.set(key, list);
    return list.length;
  }

  /**
   * Throws an Anomaly if there is no order. Every list must have been read once after the last
   * write. Returns counts.
   */
  check() {
    this.checkWrites();
    const graph = this.dependencies();
    for (const [edges, name] of [
      ['ww', 'G0'],
      ['ww wr', 'G1c'],
      ['ww wr rw', undefined],
      ['ww rt', 'G0-realtime'],
      ['ww wr rt', 'G1c-realtime'],
      ['ww wr rw rt', undefined],
    ]) {
      const cycle = graph.cycle(new Set(edges.split(' ')));
      if (cycle === undefined) continue;
      const anti = cycle.edges.filter((edge) => edge === 'rw').length;
      const kind =
        name ?? `${anti === 1 ? 'G-single' : 'G2'}${cycle.edges.includes('rt') ? '-realtime' : ''}`;
      throw new Anomaly(
        kind,
        cycle.nodes.map((id, i) => `${id} -${cycle.edges[i]}->`).join(' ') + ` ${cycle.nodes[0]}`,
        cycle.nodes.map((id) => this.transactions.get(id)),
        cycle.edges,
      );
    }
    return { transactions: this.transactions.size, dependencies: graph.size };
  }

  // Every acknowledged write is there once, no failed write is there, and of an unknown transaction
  // all writes or none are there.
  checkWrites() {
    const found = new Map(); // id -> keys
    for (const [key, ids] of this.versions) {
      ids.forEach((id, position) => {
        const transaction = this.transactions.get(id);
        if (!transaction?.writes.includes(key))
          throw new Anomaly('phantom', `${id} in ${key} at ${position}, which it did not write`, [
            transaction,
          ]);
        if (transaction.outcome === 'failed')
          throw new Anomaly('aborted write', `${id} failed and is in ${key} at ${position}`, [
            transaction,
          ]);
        const keys = found.get(id) ?? [];
        if (keys.includes(key))
          throw new Anomaly(
            'written twice',
            `${id} in ${key} at ${ids.indexOf(id)} and ${position}`,
            [transaction],
          );
        found.set(id, [...keys, key]);
      });
    }
    for (const transaction of this.transactions.values()) {
      const { id, writes, outcome } = transaction;
      const keys = found.get(id) ?? [];
      transaction.happened = outcome === 'ok' || keys.length > 0;
      if (transaction.happened && keys.length !== writes.length) {
        const missing = writes.filter((key) => !keys.includes(key)).join(', ');
        throw new Anomaly(
          keys.length === 0 ? 'lost write' : 'torn transaction',
          `${id} (${outcome}) is not in ${missing}, but in ${keys.join(', ') || 'no other'}`,
          [transaction],
        );
      }
    }
  }

  dependencies() {
    const graph = new Graph();
    for (const ids of this.versions.values()) {
      for (let i = 1; i < ids.length; i++) graph.add(ids[i - 1], ids[i], 'ww');
    }
    const real = [];
    for (const {
      id,
      reads,
      happened,
      outcome,
      call,
      return: answer,
      death,
    } of this.transactions.values()) {
      if (!happened && outcome === 'unknown') continue;
      for (const { key, length } of reads) {
        const ids = this.versions.get(key) ?? [];
        if (length > ids.length)
          throw new Anomaly(
            'phantom',
            `${id} saw ${length} writes of ${key}, there were ${ids.length}`,
            [this.transactions.get(id)],
          );
        if (length > 0 && ids[length - 1] !== id) graph.add(ids[length - 1], id, 'wr');
        if (length < ids.length && ids[length] !== id) graph.add(id, ids[length], 'rw');
      }
      real.push(
        { at: call, id, begins: true },
        { at: answer ?? death?.tick ?? Infinity, id, begins: false },
      );
    }
    // Real time is represented by one node for each return, so that the number of edges is linear
    // in the number of transactions.
    real.sort((a, b) => a.at - b.at);
    let last;
    for (const { id, begins, at } of real) {
      if (begins) {
        if (last !== undefined) graph.add(last, id, 'rt');
      } else if (at !== Infinity) {
        const moment = `@${at}`;
        graph.add(id, moment, 'rt');
        if (last !== undefined && last !== moment) graph.add(last, moment, 'rt');
        last = moment;
      }
    }
    return graph;
  }
}

class Graph {
  constructor() {
    this.out = new Map(); // node -> [[node, edge]]
    this.size = 0;
  }

  add(from, to, edge) {
    if (!this.out.has(from)) this.out.set(from, []);
    if (!this.out.has(to)) this.out.set(to, []);
    this.out.get(from).push([to, edge]);
    this.size++;
  }

  // Returns a shortest cycle of such edges as {nodes, edges}, without the nodes of real time;
  // undefined if there is none.
  cycle(edges) {
    let best;
    for (const component of this.components(edges)) {
      const inside = new Set(component);
      for (const start of component.filter((node) => !node.startsWith('@')).slice(0, 200)) {
        const found = this.shortest(start, inside, edges);
        if (found && (best === undefined || found.nodes.length < best.nodes.length)) best = found;
      }
      if (best) return best;
    }
    return best;
  }

  shortest(start, inside, edges) {
    const came = new Map();
    const queue = [start];
    for (let head = 0; head < queue.length; head++) {
      for (const [to, edge] of this.out.get(queue[head])) {
        if (!edges.has(edge) || !inside.has(to) || came.has(to)) continue;
        came.set(to, [queue[head], edge]);
        if (to !== start) {
          queue.push(to);
          continue;
        }
        const nodes = [];
        const names = [];
        for (let node = start; ;) {
          const [from, name] = came.get(node);
          if (!from.startsWith('@')) {
            nodes.unshift(from);
            names.unshift(name);
          }
          node = from;
          if (node === start) return { nodes, edges: names };
        }
      }
    }
    return undefined;
  }

  // Tarjan's strongly connected components of more than one node, without recursion.
  components(edges) {
    const index = new Map();
    const low = new Map();
    const stack = [];
    const onStack = new Set();
    const result = [];
    for (const root of this.out.keys()) {
      if (index.has(root)) continue;
      const work = [{ node: root, next: 0 }];
      while (work.length > 0) {
        const frame = work[work.length - 1];
        const { node } = frame;
        if (frame.next === 0) {
          index.set(node, index.size);
          low.set(node, index.get(node));
          stack.push(node);
          onStack.add(node);
        }
        const out = this.out.get(node);
        let deeper = false;
        while (frame.next < out.length) {
          const [to, edge] = out[frame.next++];
          if (!edges.has(edge)) continue;
          if (!index.has(to)) {
            work.push({ node: to, next: 0 });
            deeper = true;
            break;
          }
          if (onStack.has(to)) low.set(node, Math.min(low.get(node), index.get(to)));
        }
        if (deeper) continue;
        if (frame.next === 0) frame.next = 1; // no edges: it still counts as entered
        work.pop();
        if (work.length > 0)
          low.set(
            work[work.length - 1].node,
            Math.min(low.get(work[work.length - 1].node), low.get(node)),
          );
        if (low.get(node) !== index.get(node)) continue;
        const component = [];
        let member;
        do {
          member = stack.pop();
          onStack.delete(member);
          component.push(member);
        } while (member !== node);
        if (component.length > 1) result.push(component);
      }
    }
    return result;
  }
}
