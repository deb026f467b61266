// Makes a reproduction small: first the fewest earlier steps, then the smallest request, that still show a difference of
// the same signature.
import { compare, signature } from './compare.mjs';
import { clear, perform } from './run.mjs';

const REPLAY_LIMIT = 250;

export class Minimiser {
  constructor(stator, local, explain) {
    this.servers = [stator, local];
    this.explain = explain;
  }

  /** Runs `steps` on cleared servers; returns both answers to the last and what is unexplained between them. */
  async replay(steps) {
    await Promise.all(this.servers.map(clear));
    let answers;
    for (const step of steps) {
      answers = await Promise.all(this.servers.map((server) => perform(server, step)));
    }
    const last = steps[steps.length - 1];
    const differences = compare(last, ...answers);
    return { answers, differences, unexplained: this.explain(last, differences, answers).unexplained };
  }

  /** Returns { steps, answers } of the smallest reproduction found, or undefined if the difference does not come again. */
  async minimise(steps) {
    const wanted = await this.replay(steps);
    if (wanted.unexplained.length === 0) return undefined;
    const last = steps[steps.length - 1];
    const target = signature(last, wanted.unexplained);
    let spent = 0;
    const still = async (candidate) => {
      if (++spent > REPLAY_LIMIT) return false;
      const { unexplained } = await this.replay(candidate);
      return unexplained.length > 0 && signature(candidate[candidate.length - 1], unexplained) === target;
    };

    let before = steps.slice(0, -1);
    for (let size = before.length; size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < before.length;) {
        const fewer = [...before.slice(0, at), ...before.slice(at + size)];
        if (await still([...fewer, last])) before = fewer;
        else at += size;
      }
    }

    let request = last.request;
    let again = typeof request === 'object';
    while (again) {
      again = false;
      for (const smaller of reductions(request)) {
        if (await still([...before, { ...last, request: smaller }])) {
          request = smaller;
          again = true;
          break;
        }
      }
    }
    const small = [...before, { ...last, request }];
    const { answers } = await this.replay(small);
    return { steps: small, answers };
  }
}

/** Requests with one member, element or word less. */
function* reductions(node) {
  if (Array.isArray(node)) {
    for (let at = 0; at < node.length; at++) yield [...node.slice(0, at), ...node.slice(at + 1)];
    for (let at = 0; at < node.length; at++) {
      for (const smaller of reductions(node[at])) yield node.with?.(at, smaller) ?? [...node.slice(0, at), smaller, ...node.slice(at + 1)];
    }
  } else if (node !== null && typeof node === 'object') {
    for (const member of Object.keys(node)) {
      const { [member]: _, ...rest } = node;
      yield rest;
    }
    for (const member of Object.keys(node)) {
      for (const smaller of reductions(node[member])) yield { ...node, [member]: smaller };
    }
  } else if (typeof node === 'string' && node.includes(' ') && node.length < 400) {
    const words = node.split(/\s+/);
    for (let size = words.length >> 1; size >= 1; size >>= 1) {
      for (let at = 0; at + size <= words.length; at += size) yield [...words.slice(0, at), ...words.slice(at + size)].join(' ');
    }
  }
}
