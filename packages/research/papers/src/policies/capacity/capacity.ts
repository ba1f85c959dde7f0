import type { Needs, Vector } from '@goshawk/core';
import {
  type CentralPolicy,
  type ClusterChange,
  type ClusterView,
  type Draft,
  FreeWorkers,
  isSelective,
  type PolicyContext,
  type PolicyModule,
  type RunView,
  StageOrder,
  type StageView,
  type ValuesOf,
} from '@goshawk/policies';

const CAPACITY_OPTIONS = {
  maximum: {
    default: 1,
    min: 0.01,
    max: 1,
    help: 'fraction of the cluster that one user may have, at most, although the rest is free',
  },
} as const;

type CapacityOptions = ValuesOf<typeof CAPACITY_OPTIONS>;

/** The stages of a user that wait, in order of arrival, and what its tasks use. */
interface Queue {
  weight: number;
  readonly used: number[];
  readonly waiting: StageOrder;
}

/**
 * The capacity scheduler of YARN (Vavilapalli et al., Apache Hadoop YARN, SoCC 2013, §3.2, and its documentation). Each user
 * is a queue with a guaranteed share of the cluster by its weight. Of the queues with waiting tasks, the one that uses the
 * smallest part of its guarantee is served next, by its dominant resource; within a queue, jobs in order of arrival, as far
 * as they fit. A queue may use what others leave, up to `maximum`. Nothing is preempted, and no room is reserved.
 */
class Capacity implements CentralPolicy {
  readonly #maximum: number;
  readonly #context: PolicyContext;
  readonly #queues = new Map<string, Queue>();
  readonly #free = new FreeWorkers();

  constructor({ maximum }: CapacityOptions, context: PolicyContext) {
    this.#maximum = maximum;
    this.#context = context;
  }

  update(changes: readonly ClusterChange[]): void {
    for (const each of changes) {
      if (each.kind === 'found') this.#use(each.run, 1);
      else if (each.kind === 'ended') this.#use(each.run, -1);
      else if (each.kind === 'waiting') this.#wait(each.stage);
      else if (each.kind === 'gone')
        for (const stage of each.job.stages) this.#queueOf(stage).waiting.delete(stage);
      else if ('worker' in each) this.#free.update(each.worker);
    }
  }

  plan({ capacity }: ClusterView, draft: Draft): void {
    const served = [...this.#queues.values()];
    const shares = served.map(({ used, weight }) => shareOf(used, capacity) / weight);
    /** Needs for which no worker has room. Room cannot grow while tasks start. */
    const fitNowhere = new Set<Needs>();
    for (;;) {
      let next = -1;
      for (const [at, { waiting }] of served.entries())
        if (waiting.size > 0 && (next < 0 || shares[at]! < shares[next]!)) next = at;
      const queue = served[next];
      if (queue === undefined || this.#free.size === 0) break;
      this.#serve(queue, fitNowhere, capacity, draft);
      shares[next] = shareOf(queue.used, capacity) / queue.weight;
    }
    for (const { waiting } of served) waiting.restoreSkipped();
  }

  /** Starts a task of the queue's first stage, or skips it. */
  #serve({ used, waiting }: Queue, fitNowhere: Set<Needs>, capacity: Vector, draft: Draft): void {
    const stage = waiting.first()!;
    const then = used.map((amount, index) => amount + (stage.demand[index] ?? 0));
    const mayUse = shareOf(then, capacity) <= this.#maximum + 1e-9;
    const worker =
      mayUse && !fitNowhere.has(stage.needs)
        ? this.#free.find(stage, capacity, this.#context, () => true)
        : undefined;
    if (mayUse && worker === undefined && !isSelective(stage)) fitNowhere.add(stage.needs);
    const run = worker === undefined ? undefined : draft.start(stage, worker);
    if (run === undefined) return waiting.skipFirst();
    this.#use(run, 1);
    this.#free.update(run.worker);
    if (stage.waiting === 0) waiting.delete(stage);
  }

  #queueOf({ job: { user, userWeight } }: StageView): Queue {
    const queue = this.#queues.get(user) ?? { weight: userWeight, used: [], waiting: new StageOrder() };
    queue.weight = userWeight;
    this.#queues.set(user, queue);
    return queue;
  }

  #wait(stage: StageView): void {
    const { waiting } = this.#queueOf(stage);
    if (stage.waiting > 0) waiting.set(stage, stage.job.arrivedAt);
    else waiting.delete(stage);
  }

  #use({ stage }: RunView, sign: number): void {
    const { used } = this.#queueOf(stage);
    for (const [index, amount] of stage.demand.entries())
      used[index] = Math.max(0, (used[index] ?? 0) + sign * amount);
  }
}

/** The largest fraction of the cluster that these amounts are, over the resources. */
function shareOf(used: ArrayLike<number>, capacity: Vector): number {
  let share = 0;
  for (let index = 0; index < used.length; index++)
    if ((capacity[index] ?? 0) > 0) share = Math.max(share, used[index]! / capacity[index]!);
  return share;
}

/** YARN's capacity scheduler, a baseline that no paper here compares. */
export const CAPACITY: PolicyModule<CapacityOptions> = {
  title: 'YARN’s capacity scheduler: a guaranteed share for each user, and jobs in order of arrival',
  declares: true,
  packs: true,
  options: CAPACITY_OPTIONS,
  make: (options, context) => new Capacity(options, context),
};
