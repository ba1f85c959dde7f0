import type { ClusterChange, RunEnd } from '../contract.js';
import type { BookedRun, BookedStage, BookedWorker } from './entries.js';

const NONE: ClusterChange[] = [];

/**
 * Changes that the policy has not received yet. It receives them in this order: ends of runs, changes of workers, changes
 * of jobs, answers of the solver.
 */
export class PendingChanges {
  #ended = NONE;
  #ofWorkers = NONE;
  #ofJobs = NONE;
  #answers = NONE;
  /** Actions that wait until the policy has received all changes. */
  #actions: (() => void)[] = [];

  get isEmpty(): boolean {
    return this.#ended.length + this.#ofWorkers.length + this.#ofJobs.length + this.#answers.length === 0;
  }

  runEnded(run: BookedRun, how: RunEnd): void {
    // The policy must learn that a run was found or resumed in this turn before it learns about its end.
    if (run.isFoundPending) this.#ofWorkers = added(this.#ofWorkers, { kind: 'ended', run, how });
    else this.#ended = added(this.#ended, { kind: 'ended', run, how });
  }

  runFound(run: BookedRun): void {
    run.isFoundPending = true;
    this.#ofWorkers = added(this.#ofWorkers, { kind: 'found', run });
  }

  runResumed(run: BookedRun): void {
    run.isFoundPending = true;
    this.#ofWorkers = added(this.#ofWorkers, { kind: 'resumed', run });
  }

  workerFreed(worker: BookedWorker): void {
    if (worker.isFreedPending) return;
    worker.isFreedPending = true;
    this.#ofWorkers = added(this.#ofWorkers, worker.freed);
  }

  workerChanged(change: ClusterChange): void {
    this.#ofWorkers = added(this.#ofWorkers, change);
  }

  waitingChanged(stage: BookedStage): void {
    if (stage.isWaitingPending) return;
    stage.isWaitingPending = true;
    this.#ofJobs = added(this.#ofJobs, { kind: 'waiting', stage });
  }

  jobChanged(change: ClusterChange): void {
    this.#ofJobs = added(this.#ofJobs, change);
  }

  solved(answer: ClusterChange): void {
    this.#answers = added(this.#answers, answer);
  }

  /** Calls `action` once the changes have been taken, for example to free the id of a deleted object. */
  whenTaken(action: () => void): void {
    this.#actions.push(action);
  }

  /** Removes and returns the changes, and calls the waiting actions. */
  take(): readonly ClusterChange[] {
    let changes = this.#ended;
    for (const each of this.#ofWorkers) changes = added(changes, each);
    for (const each of this.#ofJobs) changes = added(changes, each);
    for (const each of this.#answers) changes = added(changes, each);
    this.#ended = this.#ofWorkers = this.#ofJobs = this.#answers = NONE;
    for (const each of changes) clearPending(each);
    const actions = this.#actions;
    if (actions.length > 0) this.#actions = [];
    for (const action of actions) action();
    return changes;
  }
}

function clearPending(change: ClusterChange): void {
  if (change.kind === 'freed') (change.worker as BookedWorker).isFreedPending = false;
  else if (change.kind === 'waiting') (change.stage as BookedStage).isWaitingPending = false;
  else if (change.kind === 'found' || change.kind === 'resumed')
    (change.run as BookedRun).isFoundPending = false;
}

/** Appends to a list. Most lists have one item, and pushing to an empty array allocates space for 17. */
function added(list: ClusterChange[], change: ClusterChange): ClusterChange[] {
  if (list.length === 0) return [change];
  list.push(change);
  return list;
}
