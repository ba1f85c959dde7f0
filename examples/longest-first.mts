import type {
  CentralPolicy,
  ClusterChange,
  ClusterView,
  Draft,
  PolicyModule,
  StageView,
} from 'goshawk/policy';

/** Starts tasks of the stage with the longest run times first. */
class LongestFirst implements CentralPolicy {
  readonly #waiting = new Set<StageView>();

  update(changes: readonly ClusterChange[]): void {
    for (const change of changes) {
      if (change.kind === 'waiting') this.#waiting.add(change.stage);
      else if (change.kind === 'gone') for (const stage of change.job.stages) this.#waiting.delete(stage);
    }
  }

  plan(cluster: ClusterView, draft: Draft): void {
    const ordered = [...this.#waiting].sort((one, other) => other.estimateMs - one.estimateMs);
    for (const stage of ordered)
      for (const worker of cluster.workers) {
        if (stage.waiting === 0) break;
        if (worker.open && worker.free[0]! > 0) draft.start(stage, worker);
      }
  }
}

const policy: PolicyModule = {
  title: 'the longest tasks first',
  declares: true,
  options: {},
  make: () => new LongestFirst(),
};
export default policy;
