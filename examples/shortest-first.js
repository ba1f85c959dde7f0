/** @import { CentralPolicy, ClusterView, Draft, ClusterChange, PolicyModule, StageView, WorkerView } from '@goshawk/policies' */

/**
 * Shortest remaining work first, with ageing: orders jobs by remaining work minus weighted waiting time.
 *
 * @implements {CentralPolicy}
 */
class ShortestFirst {
  /** @type {Set<StageView>} */
  #waiting = new Set();
  /** @type {Set<WorkerView>} */
  #free = new Set();

  /** @param {number} ageing */
  constructor(ageing) {
    this.ageing = ageing;
  }

  /** @param {readonly ClusterChange[]} changes */
  update(changes) {
    for (const each of changes) {
      if (each.kind === 'waiting') put(this.#waiting, each.stage, each.stage.waiting > 0);
      else if (each.kind === 'gone') for (const stage of each.job.stages) this.#waiting.delete(stage);
      else if ('worker' in each) put(this.#free, each.worker, each.worker.open && hasSlot(each.worker));
    }
  }

  /** @param {ClusterView} _cluster @param {Draft} draft @param {number} now */
  plan(_cluster, draft, now) {
    if (this.#free.size === 0 || this.#waiting.size === 0) return;
    const scores = new Map([...this.#waiting].map((stage) => [stage, this.#score(stage, now)]));
    for (const [stage] of [...scores].sort(([, one], [, other]) => one - other)) {
      for (const worker of this.#free) {
        if (stage.waiting === 0) break;
        if (stage.demand.every((amount, i) => amount <= (worker.free[i] ?? 0))) draft.start(stage, worker);
        if (!hasSlot(worker)) this.#free.delete(worker);
      }
      if (stage.waiting === 0) this.#waiting.delete(stage);
      if (this.#free.size === 0) return;
    }
  }

  /** @param {StageView} stage @param {number} now */
  #score({ job }, now) {
    const left = job.stages.reduce(
      (sum, { tasks, ended, estimateMs }) => sum + (tasks - ended) * estimateMs,
      0,
    );
    return left - this.ageing * (now - job.arrivedAt);
  }
}

/** @param {WorkerView} worker */
const hasSlot = ({ free }) => (free[0] ?? 0) > 0;

/** @template T @param {Set<T>} set @param {T} each @param {boolean} isIn */
const put = (set, each, isIn) => (isIn ? set.add(each) : set.delete(each));

/** @type {PolicyModule<{ ageing: number }>} */
export default {
  title: 'shortest remaining work first, with ageing',
  declares: true,
  options: { ageing: { default: 1, min: 0, max: 1e6, help: 'work that waiting is worth, ms of each ms' } },
  make: ({ ageing }) => new ShortestFirst(ageing),
};
