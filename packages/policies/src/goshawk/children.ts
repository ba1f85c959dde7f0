import type { ClusterView, JobView, RunView, StageView } from '../contract.js';

/** The waiting stages of jobs that running tasks have submitted, in order of arrival. Such a task usually waits for them. */
export class Children {
  readonly #stages = new Set<StageView>();

  /** The number of waiting tasks has changed. */
  update(stage: StageView): void {
    if (stage.job.parent === undefined) return;
    if (stage.waiting > 0) this.#stages.add(stage);
    else this.#stages.delete(stage);
  }

  gone({ stages, parent }: JobView): void {
    if (parent !== undefined) for (const stage of stages) this.#stages.delete(stage);
  }

  /** Waiting stages whose parents run and share their CPUs with no other child yet. */
  *waiting(cluster: ClusterView): Iterable<{ readonly stage: StageView; readonly parent: RunView }> {
    for (const stage of this.#stages) {
      if (stage.waiting === 0) continue;
      const parent = cluster.parentOf(stage.job);
      if (parent !== undefined && parent.borrower === undefined) yield { stage, parent };
    }
  }
}
