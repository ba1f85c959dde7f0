import {
  type Address,
  type Environment,
  fits,
  invariant,
  type MessageOf,
  type Millis,
  type UnmatchedKind,
} from '@goshawk/core';
import type { Matcher } from '../matching/matcher.js';
import type { Pullers } from '../matching/occupied.js';
import {
  freeSlots,
  isDoubtful,
  matchesOnTheWay,
  Pool,
  type Puller,
  remindOwners,
  spareOf,
} from '../matching/pool.js';
import type { CentralPolicy, ClusterView, Start, WorkerView } from '../policies/contract.js';
import type { WorkerRecord } from '../registry.js';
import { type DispatchedRun, Runs } from './runs.js';
import { type DispatchedJob, type WaitingBatch, WaitingRoom } from './waiting-room.js';

/**
 * Carries out what a central policy plans, by the messages of matching: owners say what they need, workers what is
 * free, the policy which task starts where, and the owner binds it. So a policy has no part in what is lost, doubled
 * or late; it plans anew from what is known by then.
 */
export class Dispatcher {
  readonly #env: Environment<'match'>;
  readonly #policy: CentralPolicy;
  readonly #pool = new Pool();
  readonly #room = new WaitingRoom();
  readonly #runs = new Runs();
  /** For how long a match may be on its way. ms; 0: whatever is sent arrives */
  readonly #lostAfterMs: Millis;
  matches = 0;
  /** Starts that a plan had and that could not be made. */
  refused = 0;

  constructor(env: Environment<'match'>, policy: CentralPolicy, lostAfterMs: Millis) {
    this.#env = env;
    this.#policy = policy;
    this.#lostAfterMs = lostAfterMs;
  }

  /** Matches of which their workers have not heard. */
  get openMatches(): number {
    return this.#pool.openMatches;
  }

  /** Tasks that wait for a worker. */
  get waitingTasks(): number {
    return this.#room.tasks;
  }

  /** The same by what is known of them here, which is nothing. */
  get unmatched(): Readonly<Partial<Record<UnmatchedKind, number>>> {
    return { planned: this.#room.tasks };
  }

  // ---- workers

  /** Workers, as far as they have registered. */
  get pullers(): Pullers {
    return this.#pool;
  }

  /** The worker takes work, or it does not. */
  setOpen(
    { address, place, slots, capacity }: Pick<WorkerRecord, 'address' | 'place' | 'slots' | 'capacity'>,
    open: boolean,
  ): void {
    this.#pool.setOpen(this.#pool.get(address) ?? this.#pool.add(address, place, slots, capacity), open);
  }

  removeWorker(address: Address, now: Millis): void {
    for (const run of this.#runs.at(address)) this.#end(run, true, now);
    this.#pool.remove(address);
  }

  pulled(from: Address, message: MessageOf<'pull'>, now: Millis): void {
    const puller = this.#pool.get(from);
    if (puller === undefined) return;
    for (const run of this.#runs.at(from)) {
      const isThere = message.runs.includes(run.match);
      if (!isThere && (run.isHeard || message.heard.includes(run.match))) this.#end(run, true, now);
      else if (isThere) run.isHeard = true;
    }
    this.#pool.pulled(puller, message);
    remindOwners(this.#env, puller, this.#lostAfterMs, now);
    this.#decide(now);
  }

  /** Whether the worker should say again what is free there. */
  isDoubtful(address: Address, busy: number, now: Millis): boolean {
    const puller = this.#pool.get(address);
    if (puller === undefined) return false;
    // One that drains does not pull any more.
    if (busy === 0) for (const run of this.#runs.at(address)) if (run.isHeard) this.#end(run, true, now);
    return isDoubtful(puller, busy, this.#lostAfterMs, now);
  }

  /** The owner has nothing (left) for the worker. */
  unused({ worker, match }: MessageOf<'unused'>, now: Millis): void {
    const puller = this.#pool.get(worker);
    const run = this.#runs.at(worker).find((each) => each.match === match);
    if (run !== undefined && !run.isHeard) this.#end(run, false, now);
    if (puller === undefined || this.#pool.undo(puller, match) === undefined) return;
    this.#decide(now);
  }

  // ---- jobs

  needed(owner: Address, message: MessageOf<'need'>, now: Millis): void {
    const { job, stage, tasks, matches } = message;
    const known = this.#room.batch(owner, job, stage);
    if (tasks === 0) {
      if (known !== undefined) this.#room.remove(known);
      return;
    }
    const batch = known ?? this.#room.add(owner, message, now);
    const onTheWay = matchesOnTheWay(batch, matches, this.#lostAfterMs, now);
    batch.matches = matches + onTheWay;
    this.#room.update(batch, message, Math.max(0, tasks - onTheWay));
    this.#decide(now);
  }

  withdraw(owner: Address, job: number): void {
    for (const batch of this.#room.batchesOf(owner, job)) this.#room.remove(batch);
  }

  removeOwner(owner: Address, now: Millis): void {
    for (const batch of this.#room.batchesOf(owner)) this.#room.remove(batch);
    for (const puller of this.#pool) {
      for (const run of this.#runs.at(puller.address)) {
        if (run.job.owner !== owner || run.isHeard) continue;
        this.#end(run, false, now);
        this.#pool.undo(puller, run.match);
      }
      // Also those that a worker had heard of before it was admitted anew, and does not name any more.
      for (const { match, owner: of } of [...puller.matches])
        if (of === owner) this.#pool.undo(puller, match);
    }
    this.#decide(now);
  }

  /** Short work that is not told of as a need concerns no policy of this contract. */
  shortCame(): void {}

  /** The time has come that the last plan gave. */
  wake(now: Millis): void {
    this.#decide(now);
  }

  checkInvariants(): void {
    this.#runs.countTagged().forEach((count, tag) => {
      invariant(
        count === this.#runs.tagged(tag),
        () => `${count} runs have the tag ${tag}, counted ${this.#runs.tagged(tag)}`,
      );
    });
    const running = new Map<DispatchedJob, number>();
    for (const { job } of this.#runs) running.set(job, (running.get(job) ?? 0) + 1);
    for (const [job, count] of running) {
      invariant(count === job.running, () => `${count} tasks of job ${job.job} run, counted ${job.running}`);
    }
    let waiting = 0;
    for (const batch of this.#room.batches()) waiting += batch.waiting;
    invariant(waiting === this.#room.tasks, () => `${waiting} tasks wait, counted ${this.#room.tasks}`);
  }

  // ---- deciding

  #decide(now: Millis): void {
    const plan = this.#policy.plan(this.#view(), now);
    const told = new Map<WaitingBatch, { worker: Address; match: number }[]>();
    for (const start of plan.starts) {
      const batch = this.#room.batch(start.batch.job.owner, start.batch.job.job, start.batch.stage);
      const puller = this.#pool.get(start.worker);
      if (!this.#canStart(start, batch, puller)) {
        this.refused++;
        if (batch !== undefined) this.#room.touch(batch);
        continue;
      }
      const workers = told.get(batch!) ?? [];
      workers.push({ worker: start.worker, match: this.#match(batch!, puller!, start.tag, now) });
      told.set(batch!, workers);
    }
    for (const [{ job, stage }, workers] of told) {
      this.#env.send(job.owner, { type: 'matched', job: job.job, stage, workers });
    }
    for (const [batch] of told) if (batch.waiting === 0) this.#room.remove(batch);
    if (plan.againInMs !== undefined) this.#env.setTimer('match', 0, now + plan.againInMs);
  }

  #canStart(start: Start, batch: WaitingBatch | undefined, puller: Puller | undefined): boolean {
    if (batch === undefined || batch !== start.batch || batch.waiting === 0) return false;
    return (
      puller?.open === true && freeSlots(puller) > 0 && fits(batch.demand, spareOf(puller)) && start.tag >= 0
    );
  }

  #match(batch: WaitingBatch, puller: Puller, tag: number, now: Millis): number {
    this.matches++;
    batch.matches++;
    batch.waitsSince = now;
    this.#room.setWaiting(batch, batch.waiting - 1);
    const { job, long, demand } = batch;
    const match = this.#pool.match(puller, { owner: job.owner, job: job.job, long, demand, at: now });
    this.#runs.add({ job, worker: puller.address, match, tag, startedAt: now, isHeard: false });
    return match;
  }

  #view(): ClusterView {
    const pool = this.#pool;
    return {
      slots: pool.slots,
      freeWorkers: () => freeWorkers(pool),
      freeWorkerCount: pool.free,
      batches: () => this.#room.batches(),
      runs: () => this.#runs,
      runsTagged: (tag) => this.#runs.tagged(tag),
      news: { batches: this.#room.takeNews() },
    };
  }

  #end(run: DispatchedRun, wasStarted: boolean, now: Millis): void {
    this.#runs.delete(run, wasStarted, now);
    this.#room.forgetIfDone(run.job);
  }
}

function* freeWorkers(pool: Pool): Iterable<WorkerView> {
  for (const puller of pool.freePullers) {
    const { address, slots, capacity } = puller;
    yield { address, slots, capacity, free: freeSlots(puller), spare: spareOf(puller) };
  }
}

/** Central's half of the messages of matching. */
export type Dispatching = Pick<
  Dispatcher,
  | 'matches'
  | 'openMatches'
  | 'waitingTasks'
  | 'unmatched'
  | 'pullers'
  | 'setOpen'
  | 'removeWorker'
  | 'pulled'
  | 'isDoubtful'
  | 'unused'
  | 'needed'
  | 'removeOwner'
  | 'wake'
  | 'checkInvariants'
> & {
  withdraw(owner: Address, job: number, now: Millis): void;
  shortCame(workMs: Millis, now: Millis): void;
  /** Where there is an order in which batches are served. */
  line?: Matcher['line'];
};
