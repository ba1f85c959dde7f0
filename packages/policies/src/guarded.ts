import { InputError, LIMITS, type Millis, type Needs, SLOT, WAITING_REASONS } from '@goshawk/core';
import type {
  CentralPolicy,
  ClusterChange,
  ClusterView,
  Draft,
  JobView,
  PolicyExplanation,
  PolicyShares,
  QueueLine,
  StageView,
  WorkerView,
} from './contract.js';
import { choose, fitsNow, gangSize } from './fitting.js';
import { ReadOnlyViews } from './read-only.js';

/** Time (ms) from an exception of the policy to the next plan, even if nothing changes. */
const AGAIN_MS: Millis = 1_000;

/**
 * Isolates central from faults of a custom policy, which gets views that it cannot write. It reports and counts an exception, keeps the
 * starts planned before it, and starts the other waiting tasks and gangs in order of arrival if they fit.
 */
export class GuardedPolicy implements CentralPolicy {
  readonly #inner: CentralPolicy;
  readonly #views = new ReadOnlyViews();
  readonly #failed: (error: unknown) => void;
  /** Waiting stages by job, in order of arrival. */
  readonly #waiting = new Map<JobView, Set<StageView>>();
  /** Whether all tasks are gangs, whose tasks a fallback must not start individually. */
  readonly #areAllGangs: boolean;
  #failures = 0;
  /** Whether an exception in `update` hid changes from the policy, so that it may know only some stages and workers. */
  #isStale = false;
  /** Absent if the policy has no order. */
  readonly line?: (now: Millis) => QueueLine;
  readonly shares?: (cluster: ClusterView) => PolicyShares;

  /** @param failed receives the exception; if it throws, the call throws */
  constructor(inner: CentralPolicy, areAllGangs: boolean, failed: (error: unknown) => void) {
    this.#inner = inner;
    this.#areAllGangs = areAllGangs;
    this.#failed = failed;
    if (this.#has('line')) this.line = (now) => this.#line(now);
    if (this.#has('shares')) this.shares = (cluster) => this.#shares(cluster);
  }

  get counters(): Readonly<Record<string, number>> {
    const counts = this.#try(() => Object.entries(this.#inner.counters ?? {})) ?? [];
    return {
      ...Object.fromEntries(counts.filter(([, count]) => Number.isFinite(count))),
      policyFailures: this.#failures,
    };
  }

  update(changes: readonly ClusterChange[], now: Millis): void {
    for (const each of changes) {
      if (each.kind === 'waiting') this.#trackWaiting(each.stage);
      else if (each.kind === 'gone') this.#waiting.delete(each.job);
    }
    const failures = this.#failures;
    this.#try(() => this.#inner.update(this.#views.of(changes), now));
    if (this.#failures > failures) this.#isStale = true;
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    const failures = this.#failures;
    let isOpen = true;
    const guarded = this.#guard(draft, () => isOpen);
    this.#try(() => this.#inner.plan(this.#views.of(cluster), guarded, now));
    isOpen = false;
    const hasFailed = this.#failures > failures;
    if ((hasFailed || this.#isStale) && !this.#areAllGangs) this.#planByArrival(cluster, draft);
    if (hasFailed) draft.again(now + AGAIN_MS);
  }

  explain(stage: StageView, cluster: ClusterView, now: Millis): PolicyExplanation | undefined {
    const explained = this.#try(() => {
      const found = this.#inner.explain?.(this.#views.of(stage), this.#views.of(cluster), now);
      return found && { reason: found.reason, sentence: found.sentence };
    });
    if (typeof explained?.sentence !== 'string' || typeof explained.reason !== 'string') return undefined;
    const reason = WAITING_REASONS.includes(explained.reason) ? explained.reason : 'matching';
    return { reason, sentence: explained.sentence.slice(0, LIMITS.lineLengthMax) };
  }

  checkInvariants(cluster: ClusterView): void {
    this.#inner.checkInvariants?.(this.#views.of(cluster));
  }

  #has(method: 'line' | 'shares'): boolean {
    return this.#try(() => this.#inner[method] !== undefined) === true;
  }

  #line(now: Millis): QueueLine {
    const line = this.#try(() => this.#inner.line!(now));
    const counted = (name: 'longRunning' | 'longLimit' | 'lendable' | 'reserve') =>
      countOf(this.#try(() => line?.[name]));
    return {
      // Central's metrics know a closed list of kinds, which custom policies do not use.
      kindOf: () => 'planned',
      comesBefore: (one, other) =>
        this.#try(() => line?.comesBefore(this.#views.of(one), this.#views.of(other))) === true,
      keptFor: (stage) => countOf(this.#try(() => line?.keptFor(this.#views.of(stage)))),
      longRunning: counted('longRunning'),
      longLimit: counted('longLimit'),
      lendable: counted('lendable'),
      reserve: counted('reserve'),
    };
  }

  #shares(cluster: ClusterView): PolicyShares {
    const shares = this.#try(() => this.#inner.shares!(this.#views.of(cluster)));
    return {
      by: this.#try(() => shares?.by) === 'user' ? 'user' : 'job',
      dueTo: (job) => {
        const due = this.#try(() => Array.from(shares?.dueTo(this.#views.of(job)) ?? [])) ?? [];
        return due.every(Number.isFinite) ? due.slice(0, cluster.resources.length) : [];
      },
    };
  }

  /** Returns a draft that takes views, and refuses objects that are none. */
  #guard(of: Draft, isOpen: () => boolean): Draft {
    const views = this.#views;
    const draft = (): Draft => {
      if (isOpen()) return of;
      throw new InputError('bad-policy', 'the draft was used after `plan` had returned');
    };
    const stageAt = (stage: StageView) => views.behind(stage, 'stage');
    const workerAt = (worker: WorkerView) => views.behind(worker, 'worker');
    return {
      start: (stage, worker, loan) => {
        if (loan === undefined) return views.of(draft().start(stageAt(stage), workerAt(worker)));
        const lenders = loan.lenders.map((run) => views.behind(run, 'lender'));
        if (!(loan.atMostMs > 0)) throw new InputError('bad-policy', `a loan of ${loan.atMostMs} ms`);
        return views.of(
          draft().start(stageAt(stage), workerAt(worker), { lenders, atMostMs: loan.atMostMs }),
        );
      },
      place: (stage, worker) => views.of(draft().place(stageAt(stage), workerAt(worker))),
      gang: (starts) =>
        views.of(
          draft().gang(
            starts.map(({ stage, worker }) => ({ stage: stageAt(stage), worker: workerAt(worker) })),
          ),
        ),
      preempt: (run) => draft().preempt(views.behind(run, 'run')),
      expect: (job, at, where) => draft().expect(views.behind(job, 'job'), at, where),
      again: (at) => draft().again(at),
      solve: (problem) => draft().solve(problem),
    };
  }

  #trackWaiting(stage: StageView): void {
    const stages = this.#waiting.get(stage.job) ?? new Set();
    if (stage.waiting > 0) this.#waiting.set(stage.job, stages.add(stage));
    else if (stages.delete(stage) && stages.size === 0) this.#waiting.delete(stage.job);
  }

  #planByArrival(cluster: ClusterView, draft: Draft): void {
    const free = [...cluster.workers].filter(isFree);
    // Starts at a different worker each time, because an owner may decline one repeatedly.
    const first = this.#failures % Math.max(1, free.length);
    let workers = [...free.slice(first), ...free.slice(0, first)];
    const fitNowhere = new Set<Needs>();
    for (const stage of [...this.#waiting.values()].flatMap((stages) => [...stages])) {
      if (workers.length === 0) return;
      if (fitNowhere.has(stage.needs)) continue;
      if (gangSize(stage) > 1) {
        startGang(stage, workers, draft);
        workers = workers.filter(isFree);
        continue;
      }
      for (const worker of workers) {
        while (stage.waiting > 0 && fitsNow(stage, worker))
          if (draft.start(stage, worker) === undefined) break;
      }
      if (stage.waiting > 0) fitNowhere.add(stage.needs);
      workers = workers.filter(isFree);
    }
  }

  #try<T>(act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      this.#failures++;
      this.#failed(error);
      return undefined;
    }
  }
}

/** Starts a gang on the first workers with room for all of its tasks. */
function startGang(stage: StageView, workers: readonly WorkerView[], draft: Draft): void {
  const together = gangSize(stage);
  const chosen: WorkerView[] = [];
  for (const worker of workers)
    if (fitsNow(stage, worker)) choose(worker, worker.roomFor(stage.demand), stage, together, chosen);
  if (chosen.length === together) draft.gang(chosen.map((worker) => ({ stage, worker })));
}

function isFree({ open, free }: WorkerView): boolean {
  return open && free[SLOT]! > 0;
}

/** Validates counts of tasks and workers from the policy. */
function countOf(reported: unknown): number {
  return Number.isSafeInteger(reported) ? Math.max(0, reported as number) : 0;
}
