import {
  type Address,
  AddressNumbers,
  effectiveScope,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type PolicySettings,
  sharedByNumber,
} from '@goshawk/core';
import type { SchedulerCounters, SchedulerEnvironment } from '../contract.js';
import type { IdleHints } from '../finding/idle-hints.js';
import type { Needer } from '../finding/needing.js';
import type { Offer, Offers } from '../finding/offers.js';
import type { Prober } from '../finding/probing.js';
import type { Batch } from '../job/batch.js';
import { type Job, TaskState } from '../job/job.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { Members } from '../joining/members.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Ledger } from '../keeping/ledger.js';
import type { Tallies } from '../observing/tallies.js';
import { slowdownAt, slowed } from './slowdown.js';

/** What binding has to know of the scheduler around it. */
interface Surroundings {
  readonly env: SchedulerEnvironment;
  readonly jobs: JobStore;
  readonly members: Members;
  readonly prober: Prober;
  readonly needer: Needer;
  readonly offers: Offers;
  readonly hints: IdleHints;
  readonly counters: SchedulerCounters;
  readonly tallies: Tallies;
  readonly ledger: Ledger;
  readonly enlistment: Enlistment;
  policy(): PolicySettings;
  /** Looks for workers for what waits in the batch. */
  find(job: Job, batch: Batch, now: Millis): void;
  /** The same task is sent to its worker once more. */
  sentAgain(job: Job, task: number): void;
  /** A task was given to a worker. */
  bound(job: Job, now: Millis): void;
  changed(job: Job, now: Millis): void;
}

/**
 * Which task a worker gets, and that it gets it once: late binding (Hawk §3.5) when it serves a probe, the task
 * itself when central has placed it, the next one of the batch when central has matched it, and of the first batch
 * in order when the worker seeks whatever there is.
 */
export class Binder {
  readonly #around: Surroundings;
  /** Tasks that were given by matches in this time may be known to nobody else. */
  #doubtful = { since: 0, before: 0, until: 0 };
  readonly #questions = new Questions();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** The workers are gone: should they come back, their questions are counted anew. */
  forget(workers: Iterable<Address>): void {
    this.#questions.forget(workers);
    this.#around.needer.forget(workers);
  }

  /** A worker serves a probe, or a task that central has placed with it, and wants to know what to run. */
  answer(from: Address, message: MessageOf<'ask'>, now: Millis): void {
    const job = this.#around.jobs.byNumber(message.job);
    const batch = job?.batches[message.stage];
    if (job === undefined || batch === undefined || job.hasEnded) return this.#refuse(from, message.ask);
    // A placed task's attempt tells whether it counts; a probe that was lost with its worker has no such mark.
    if (message.placed === undefined && this.#around.members.isGone(from))
      return this.#refuse(from, message.ask);
    const isNew = this.#isNew(from, message.ask, now);
    if (!isNew && this.#sendAgain(job, from, message.ask, 'bind')) return;
    const task =
      message.placed === undefined
        ? this.#nextFor(job, batch, from, isNew, now)
        : this.#placedTask(job, from, message.placed.task, message.placed.attempt);
    if (task < 0) {
      this.#refuse(from, message.ask);
    } else {
      this.#around.hints.delete(from);
      job.asks[task] = message.ask;
      this.#bind(job, task, from, 'bind', now);
    }
    if (message.placed === undefined) this.#afterProbe(job, batch, now, task < 0);
  }

  /** A worker has nothing to do, and takes whichever short task comes first here. */
  sought(from: Address, { ask, spare }: MessageOf<'seek'>, now: Millis): void {
    const { hints, offers } = this.#around;
    if (!this.#isServed(from, ask, 'run', now)) return;
    const offer = offers.first(spare, now, (one) => this.#hasFor(one, from, now));
    if (offer === undefined) hints.add(from);
    else hints.delete(from);
    this.#serve(from, ask, 'run', offer, now);
  }

  /**
   * A worker's slot has run a task, and if that was tiny it waits for the next one. It gets the first in order here if
   * that is tiny too, and central is asked, or other schedulers, when it is not: so nothing smaller waits here
   * meanwhile, and what is not tiny is bound as late as ever.
   */
  follow(from: Address, { ask, job: ended, task }: MessageOf<'ended'>, now: Millis): void {
    if (ask === 0 || !this.#isServed(from, ask, 'bind', now)) return;
    const { jobs, offers } = this.#around;
    const demand = jobs.byNumber(ended)?.stageOf(task).spec.demand;
    const offer = offers.first(demand ?? NO_RESOURCES, now, (one) => this.#hasFor(one, from, now));
    const isTinyToo = offer !== undefined && isTiny(offer.job, this.#around.policy().seriesMs);
    this.#serve(from, ask, 'bind', isTinyToo ? offer : undefined, now);
  }

  /** A question for any task is one to look for: from a worker that is there, and not answered before. */
  #isServed(from: Address, ask: number, as: 'bind' | 'run', now: Millis): boolean {
    const { members, jobs } = this.#around;
    if (!members.isGone(from)) {
      if (this.#isNew(from, ask, now)) return true;
      for (const job of jobs.active()) if (this.#sendAgain(job, from, ask, as)) return false;
    }
    this.#none(from, ask);
    return false;
  }

  #serve(from: Address, ask: number, as: 'bind' | 'run', offer: Offer | undefined, now: Millis): void {
    if (offer === undefined) return this.#none(from, ask);
    const { job, batch } = offer;
    if (!this.#give(job, batch, from, ask, as, now)) this.#none(from, ask);
    this.#afterProbe(job, batch, now);
  }

  #none(worker: Address, ask: number): void {
    this.#around.env.send(worker, nothingFor(ask));
  }

  /** The question comes for the first time. */
  #isNew(from: Address, ask: number, now: Millis): boolean {
    const question = this.#questions.note(from, ask);
    if (question === 'first') this.#around.members.met(from, now);
    return question !== 'again';
  }

  #refuse(worker: Address, ask: number): void {
    this.#around.counters.asksRefused++;
    this.#around.hints.add(worker);
    this.#around.env.send(worker, nothingFor(ask));
  }

  /**
   * The task for a probe that is served, or −1. To a question that was answered `none` before, a task would come
   * too late: that answer is at the worker first.
   */
  #nextFor(job: Job, batch: Batch, from: Address, isNew: boolean, now: Millis): number {
    if (!isNew) return -1;
    this.#around.prober.used(batch, from, 1);
    if (!job.isWritten || job.cancelling || job.headroom === 0) return -1;
    const task = job.takeWaiting(batch, this.#choiceFor(job, batch, from, now));
    if (task >= 0) job.nextAttempt(task);
    return task;
  }

  /** Which tasks of the batch may go to the worker; undefined: all. */
  #choiceFor(
    job: Job,
    { spec, over }: Batch,
    worker: Address,
    now: Millis,
  ): ((task: number) => boolean) | undefined {
    const { blame } = job;
    // Where nothing is asked again, nobody would come back for what was passed over.
    if (blame === undefined || this.#around.enlistment.timings.retryMs === 0) return undefined;
    const { members } = this.#around;
    const scope = effectiveScope(this.#around.policy().preset, over ?? job.route.over);
    const hasOther = (besides: readonly Address[]) => members.hasBesides(besides, scope, spec.demand);
    return (task) => blame.mayGo(task, worker, hasOther, now);
  }

  /** Whether a task of the offer may go to the worker. */
  #hasFor({ job, batch }: Offer, worker: Address, now: Millis): boolean {
    const mayGo = this.#choiceFor(job, batch, worker, now);
    return mayGo === undefined || job.hasWaiting(batch, mayGo);
  }

  /** The placed task that asks, or −1 when it is not the attempt that counts, or runs elsewhere. */
  #placedTask(job: Job, from: Address, task: number, attempt: number): number {
    if (task >= job.taskCount || job.attempts[task] !== attempt || job.cancelling) return -1;
    const state = job.stateOf(task);
    // Its worker may ask before central's answer is here.
    if (state === TaskState.placing) return task;
    return state === TaskState.placed && job.workers[task] === from ? task : -1;
  }

  /** @param wasPassedOver the worker got nothing */
  #afterProbe(job: Job, batch: Batch, now: Millis, wasPassedOver = false): void {
    const present = job.present(batch);
    if (present !== batch && present.waiting === 0) this.#allBound(job, present, now);
    if (batch.waiting === 0) this.#allBound(job, batch, now);
    else if (batch.probes.out < batch.waiting && this.#mayLook(job, wasPassedOver, now))
      this.#around.find(job, batch, now);
  }

  /** Another worker is looked for at once; but where the same one comes again and again, in a while. */
  #mayLook(job: Job, wasPassedOver: boolean, now: Millis): boolean {
    return !wasPassedOver || job.blame?.mayLook(now) !== false;
  }

  /** No task waits: neither probes nor matched workers are needed any more. */
  #allBound(job: Job, batch: Batch, now: Millis): void {
    if (batch.probes.out > 0) this.#around.prober.batchIsBound(job, batch, this.#around.policy());
    if (batch.needTold > 0) this.#around.needer.satisfied(job, batch, this.#around.enlistment.central, now);
  }

  /** Central has found workers for a stage: each gets the next task. */
  matched(from: Address, message: MessageOf<'matched'>, now: Millis): void {
    const job = this.#around.jobs.byNumber(message.job);
    const batch = job?.batches[message.stage];
    let wasPassedOver = false;
    const give = (worker: Address, match: number): boolean => {
      if (job === undefined || batch === undefined || job.hasEnded || job.cancelling) return false;
      if (!job.isWritten || job.headroom === 0) return false;
      this.#around.members.met(worker, now);
      const isGiven = this.#give(job, batch, worker, -match, 'run', now);
      wasPassedOver ||= !isGiven;
      return isGiven;
    };
    this.#around.enlistment.heard(now);
    this.#around.needer.matched(batch, message, from, give, now);
    if (job === undefined || batch === undefined) return;
    if (batch.waiting === 0) this.#allBound(job, batch, now);
    else if (wasPassedOver && this.#mayLook(job, true, now)) this.#around.find(job, batch, now);
  }

  /** The next task of the batch goes to a worker that has not asked for this batch. @returns false when none waits */
  #give(job: Job, batch: Batch, worker: Address, ask: number, as: 'bind' | 'run', now: Millis): boolean {
    const task = job.takeWaiting(batch, this.#choiceFor(job, batch, worker, now));
    if (task < 0) return false;
    job.nextAttempt(task);
    job.asks[task] = ask;
    this.#bind(job, task, worker, as, now);
    return true;
  }

  /** The task that runs at the worker because of this match, or −1. */
  taskOf(job: Job, worker: Address, match: number): number {
    for (let task = 0; task < job.taskCount; task++) {
      const isIt = job.asks[task] === -match && job.workers[task] === worker;
      if (isIt && job.states[task] === TaskState.running) return task;
    }
    return -1;
  }

  /** The worker has not heard of the match: what it was given is sent again, or the slot given back. */
  unheard(central: Address, { job: number, worker, match }: MessageOf<'unheard'>): void {
    const job = this.#around.jobs.byNumber(number);
    if (job !== undefined && this.#sendAgain(job, worker, -match, 'run')) return;
    this.#around.env.send(central, { type: 'unused', worker, match });
  }

  /**
   * Another central knows of no match of the one before, so that nobody would notice that a worker has not heard of
   * one. Whoever was given a task shortly before gets it again for a while, and knows what has come.
   *
   * @param heardAt when the one before was heard last
   * @returns as `sendDoubtfulAgain` does
   */
  centralChanged(heardAt: Millis, leaseMs: Millis, now: Millis): boolean {
    this.#doubtful = { since: heardAt - 2 * leaseMs, before: now, until: now + leaseMs };
    return this.sendDoubtfulAgain(now);
  }

  /** @returns whether it is to be called again in a while */
  sendDoubtfulAgain(now: Millis): boolean {
    const { since, before, until } = this.#doubtful;
    let hasSent = false;
    if (now >= until) return hasSent;
    for (const job of this.#around.jobs.active()) {
      for (let task = 0; task < job.taskCount; task++) {
        const startedAt = job.startedAt[task]!;
        if (job.states[task] !== TaskState.running || job.asks[task]! >= 0) continue;
        if (startedAt < since || startedAt >= before) continue;
        this.#around.sentAgain(job, task);
        this.#send(job, task, job.workerOf(task), 'run');
        hasSent = true;
      }
    }
    return hasSent;
  }

  /** The answer to this question, or match, was lost: give the same one. @returns false when there was none */
  #sendAgain(job: Job, worker: Address, ask: number, as: 'bind' | 'run'): boolean {
    for (let task = 0; task < job.taskCount; task++) {
      if (job.states[task] !== TaskState.running || job.asks[task] !== ask || job.workers[task] !== worker)
        continue;
      this.#around.sentAgain(job, task);
      this.#send(job, task, worker, as);
      return true;
    }
    return false;
  }

  #bind(job: Job, task: number, worker: Address, as: 'bind' | 'run', now: Millis): void {
    const { counters, tallies, env } = this.#around;
    counters.tasksBound++;
    tallies.taskBound(job, task, now);
    job.attemptsTotal++;
    job.workers[task] = worker;
    job.startedAt[task] = now;
    job.firstStartAt ??= now;
    const batch = job.batchOf(task);
    job.set(task, TaskState.running);
    job.blame?.runsApart(task, job.attempts[task]!, job.losses.get(task) ?? 0);
    env.taskBound?.(job, task, now);
    if (job.maySeek) this.#around.offers.update(job, batch, now);
    this.#send(job, task, worker, as);
    this.#around.bound(job, now);
    this.#around.changed(job, now);
  }

  /** `bind` answers the question of a probe, or of a placed task; `run` says all that the worker has to know. */
  #send(job: Job, task: number, worker: Address, as: 'bind' | 'run'): void {
    const attempt = job.attempts[task]!;
    const ask = Math.max(0, job.asks[task]!);
    const match = Math.max(0, -job.asks[task]!);
    const { index, spec } = job.batchOf(task);
    const payload = slowed(job.payloadOf(task), slowdownAt(job, worker, this.#around.members));
    const long = job.class === 'long';
    const { timeoutMs } = job.spec;
    const { number, id: jobId } = job;
    const apartMs = job.blame?.apartMsOf(task, attempt);
    // After a crash one attempt may have been given that is not written down, and no more: so that no number is given
    // twice, the end of the one before it must be on the disk.
    const out = attempt > 1 ? this.#around.ledger : this.#around.env;
    out.send(
      worker,
      as === 'bind'
        ? { type: 'bind', ask, job: number, task, attempt, payload, jobId, long, timeoutMs, apartMs }
        : {
            type: 'run',
            match,
            job: number,
            stage: index,
            task,
            attempt,
            payload,
            jobId,
            long,
            demand: spec.demand,
            timeoutMs,
            ask,
            apartMs,
          },
    );
  }
}

/** The answer to a question for which there is no task. */
const nothingFor = sharedByNumber((ask): MessageOf<'none'> => ({ type: 'none', ask }));

/** Two of its tasks fit into a series, by those that have run, or while none has by what is believed of them. */
function isTiny(job: Job, seriesMs: Millis): boolean {
  const completed = job.countOf(TaskState.completed);
  const believedMs = job.estimateMs ?? Number.POSITIVE_INFINITY;
  const meanMs = completed > 0 ? job.workedMs / completed : believedMs;
  return 2 * meanMs < seriesMs;
}

/** A worker's first question of all, one that was not asked before, or one whose answer may have been lost. */
type QuestionKind = 'first' | 'new' | 'again';

/**
 * Which questions of workers come for the first time. A worker numbers its questions upwards and order holds
 * between two parties, so that the last number of each worker is all there is to remember.
 */
class Questions {
  /** 0: it has not asked yet. */
  readonly #last = new AddressNumbers();

  /** Remembers the question. */
  note(worker: Address, ask: number): QuestionKind {
    const last = this.#last.get(worker);
    if (ask <= last) return 'again';
    this.#last.set(worker, ask);
    return last === 0 ? 'first' : 'new';
  }

  forget(workers: Iterable<Address>): void {
    for (const worker of workers) this.#last.set(worker, 0);
  }
}
