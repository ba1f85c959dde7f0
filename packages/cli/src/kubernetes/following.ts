import type { WorkerView } from '@goshawk/client';

interface Orders {
  /** Names of workers to drain. */
  readonly drain: readonly string[];
  /** Names of workers that accept tasks again. */
  readonly undo: readonly string[];
}

/**
 * Decides which workers to drain and which drains to undo, by the nodes that are cordoned. Workers that an
 * operator drains stay drained; only drains because of a node are undone.
 */
export class NodeFollower {
  /** Workers that were drained because of their nodes. */
  readonly #drained = new Set<string>();
  #isFirst = true;

  orders(cordoned: ReadonlySet<string>, workers: readonly Pick<WorkerView, 'name' | 'state'>[]): Orders {
    const known = new Map(workers.map((worker) => [worker.name, worker]));
    const drain: string[] = [];
    for (const { name, state } of workers) {
      if (!isOnOneOf(cordoned, name)) continue;
      if (state === 'active') drain.push(name);
      // An earlier follower may have drained it.
      if (state === 'active' || this.#isFirst) this.#drained.add(name);
    }
    this.#isFirst = false;
    const undo: string[] = [];
    for (const name of this.#drained) {
      if (known.has(name) && isOnOneOf(cordoned, name)) continue;
      this.#drained.delete(name);
      const worker = known.get(name);
      if (worker !== undefined && worker.state !== 'active') undo.push(name);
    }
    return { drain, undo };
  }
}

/**
 * Reports whether a worker runs on one of the nodes. It has the name of its node; several in a process are
 * numbered: `node-0`, `node-1`.
 */
function isOnOneOf(nodes: ReadonlySet<string>, worker: string): boolean {
  return nodes.has(worker) || nodes.has(worker.replace(/-\d+$/, ''));
}
